#include "collector/machine/machine_text.h"

#include <string.h>

#include "collector/measure.h"
#include "sigsafe/hash.h"

#define FRESH_NS UINT64_C(1000000000)

void machine_text_begin(struct machine_text *t, const struct machine_process *process, uint64_t at,
                        const uint8_t *bytes, unsigned count)
{
    t->at = at;
    t->bytes = bytes;
    t->count = count;
    t->now_ns = monotonic_ns();
    machine_memory_begin(&t->memory, process, &t->none);
}

/* Lines are read again after a second: the kernel patches its code now and then. */
static bool kernel_byte(struct machine_text *t, uint64_t address, uint8_t *to)
{
    uint64_t first = address & ~(uint64_t)(CAPTURE_TEXT - 1);
    unsigned i = (unsigned)(hash_word(first / CAPTURE_TEXT) >> 54);
    _Static_assert(MACHINE_TEXT_LINES == 1 << (64 - 54), "as many as there are values of the hash");
    if (t->line[i].address != first || t->now_ns - t->line[i].ns > FRESH_NS) {
        t->line[i].address = first;
        t->line[i].ns = t->now_ns;
        t->line[i].there = capture_text(t->capture, first, t->line[i].bytes);
    }
    *to = t->line[i].bytes[address - first];
    return t->line[i].there;
}

static bool user_byte(struct machine_text *t, uint64_t address, uint8_t *to)
{
    uint64_t word;
    if (!machine_memory_fetch(&t->memory, address & ~UINT64_C(7), &word))
        return false;
    *to = (uint8_t)(word >> 8 * (address & 7));
    return true;
}

unsigned machine_text_read(struct machine_text *t, uint64_t address, uint8_t *to, unsigned most)
{
    unsigned n = 0;
    if (address - t->at < t->count) {
        n = t->count - (unsigned)(address - t->at);
        n = n < most ? n : most;
        memcpy(to, t->bytes + (address - t->at), n);
    }
    while (n < most && (t->memory.process ? user_byte(t, address + n, &to[n])
                                          : kernel_byte(t, address + n, &to[n])))
        n++;
    return n;
}
