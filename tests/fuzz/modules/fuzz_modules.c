/* libFuzzer: what built-in modules read that others have written. The first byte chooses: the file
 * that remembers a memory hierarchy, a window of instructions with addresses, or words of what was
 * executed between the windows of a sampled simulation.
 *
 *     fuzz_modules CORPUS_DIRECTORY
 */
#include <stdlib.h>
#include <string.h>

#include "modules/conflict.h"
#include "modules/hierarchy_file.h"
#include "collector/machine_file.h"
#include "modules/simulate_warm.h"
#include "sigsafe/warm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_text(const uint8_t *data, size_t size)
{
    struct hierarchy h;
    char *text = malloc(size + 1);
    if (!text)
        return;
    memcpy(text, data, size);
    text[size] = 0;
    if (hierarchy_parse(text, &h))
        for (uint64_t ticks = 0; ticks < 3000; ticks += 7)
            if (hierarchy_place(&h, ticks) >= HIERARCHY_NAMES ||
                hierarchy_place(&h, ticks) > hierarchy_place(&h, ticks + 7))
                abort();
    free(text);
}

/* An instruction: length, that many bytes, two bytes of an address for each operand. */
static void find_in_window(const uint8_t *data, size_t size)
{
    static struct conflict_insn insns[CONFLICT_WINDOW];
    struct conflict_step steps[CONFLICT_WINDOW];
    struct conflict found[64];
    uint32_t count = 0;
    memset(steps, 0, sizeof steps);
    while (size > 1 && count < CONFLICT_WINDOW) {
        uint32_t length = 1 + data[0] % 15;
        const uint8_t *addresses = data + 1 + length;
        if (size < 1 + length + 2 * X86_MEMORY_MAX)
            break;
        struct conflict_step *s = &steps[count];
        s->insn = conflict_describe(data + 1, length, &insns[count]) ? &insns[count] : NULL;
        for (unsigned i = 0; i < X86_MEMORY_MAX; i++) {
            s->address[i] = (uint64_t)(int64_t)(int8_t)addresses[2 * i + 1] << 8 | addresses[2 * i];
            s->known[i] = addresses[2 * i] % 4;
        }
        count++;
        data += 1 + length + 2 * X86_MEMORY_MAX;
        size -= 1 + length + 2 * X86_MEMORY_MAX;
    }
    uint32_t pairs = conflicts_find(steps, count, found, 64);
    for (uint32_t i = 0; i < pairs; i++)
        if (found[i].store >= found[i].load || found[i].load >= count ||
            found[i].kind >= CONFLICT_KINDS)
            abort();
}

/* A record in the fuzzer's bytes: as many of them as there are. */
struct fuzzed {
    const uint8_t *data;
    size_t size;
    struct tuple_insn record;
};

static const struct tuple_insn *find_record(void *from, uint32_t id)
{
    struct fuzzed *f = from;
    enum { CODE = sizeof f->record.bytes };
    if (id * (size_t)CODE + CODE > f->size || id > f->size)
        return NULL;
    f->record = (struct tuple_insn){.address = 0x400000 + id * 16, .length = 1 + id % CODE,
                                    .memories = (uint8_t)(id % (TUPLE_MEMORIES + 1))};
    memcpy(f->record.bytes, f->data + id * CODE, CODE);
    return &f->record;
}

/* Words of four bytes: the top, and the low ones of the rest. */
static void warm_words(const uint8_t *data, size_t size)
{
    static struct machine machine; /* one core for all inputs: to make one takes long */
    static struct model_core *core;
    struct err e = {0};
    struct fuzzed f = {data, size, {0}};
    struct simulate_blocks *blocks = NULL;
    struct simulate_warm at = {.branches = true};
    uint64_t words[WARM_WORDS_MOST];
    uint32_t count = 0;
    if (!machine.rob_size && !machine_file_load(MACHINES "/zen4.conf", NULL, &machine, &e))
        abort();
    if (!core)
        core = model_core_new(&machine);
    for (; size >= 4 && count < WARM_WORDS_MOST; size -= 4, data += 4) {
        uint32_t top = data[0] < 128 ? data[0] : 0xff00u | data[0];
        bool far = top != WARM_REPEAT; /* what is repeated for long takes its time */
        words[count++] = warm_word(top, (uint64_t)data[1] << (far ? WARM_COUNT_SHIFT : 8) |
                                            (uint64_t)data[2] << 8 | data[3]);
    }
    struct simulate_records records = {find_record, &f};
    uint64_t executed = 0, half = count / 2;
    if (core) {
        executed += simulate_warm_words(&blocks, records, core, &at, words, (uint32_t)half);
        executed += simulate_warm_words(&blocks, records, core, &at, words + half,
                                        (uint32_t)(count - half));
    }
    if (executed > (uint64_t)count * WARM_INSNS_MOST)
        abort();
    simulate_blocks_free(blocks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size && data[0] % 3 == 1)
        read_text(data + 1, size - 1);
    else if (size && data[0] % 3 == 2)
        warm_words(data + 1, size - 1);
    else if (size)
        find_in_window(data + 1, size - 1);
    return 0;
}
