#include <string.h>

#include "interpret/internal.h"
#include "sigsafe/hash.h"

enum { WORD = 8, HASH_SHIFT = 64 - 9 };
_Static_assert(INTERPRET_CELLS == 1 << (64 - HASH_SHIFT),
               "as many as there are values of the hash");

static uint32_t slot_of(uint64_t address)
{
    return (uint32_t)(hash_word(address / WORD) >> HASH_SHIFT);
}

static const struct interpret_cell *cell_find(const struct interpret_memory *m, uint64_t address)
{
    for (uint32_t i = slot_of(address); m->cell[i].address; i = (i + 1) % INTERPRET_CELLS)
        if (m->cell[i].address == (address | 1))
            return &m->cell[i];
    return NULL;
}

/* NULL: there is no room. */
static struct interpret_cell *cell_at(struct interpret_memory *m, uint64_t address)
{
    uint32_t i = slot_of(address);
    for (; m->cell[i].address; i = (i + 1) % INTERPRET_CELLS)
        if (m->cell[i].address == (address | 1))
            return &m->cell[i];
    if (m->count >= INTERPRET_CELLS * 3 / 4)
        return NULL;
    m->count++;
    m->cell[i] = (struct interpret_cell){.address = address | 1};
    return &m->cell[i];
}

void memory_forget(struct interpret_state *s)
{
    memset(&s->memory, 0, sizeof s->memory);
    s->forgot++;
}

/* Bits of one cell, from byte `from` of it on. False: there is no room. */
static bool cell_write(struct interpret_memory *m, uint64_t address, unsigned from, uint64_t mask,
                       uint64_t bits, uint64_t known, bool written)
{
    struct interpret_cell *c = cell_at(m, address);
    unsigned shift = 8 * from;
    if (!c)
        return false;
    c->bits = (c->bits & ~(mask << shift)) | ((bits & known & mask) << shift);
    c->known = (c->known & ~(mask << shift)) | ((known & mask) << shift);
    if (written)
        c->written |= mask << shift;
    return true;
}

static bool put(struct interpret_memory *m, uint64_t address, uint64_t bits, uint64_t known,
                unsigned bytes, bool written)
{
    uint64_t first = address & ~(uint64_t)(WORD - 1);
    unsigned from = (unsigned)(address - first), here = bytes < WORD - from ? bytes : WORD - from;
    if (!cell_write(m, first, from, mask_of(here), bits, known, written))
        return false;
    return here == bytes || cell_write(m, first + WORD, 0, mask_of(bytes - here), bits >> 8 * here,
                                       known >> 8 * here, written);
}

void interpret_remember(struct interpret_state *s, uint64_t address, const void *bytes,
                        unsigned count)
{
    const uint8_t *from = bytes;
    for (unsigned at = 0; at < count; at += WORD) {
        unsigned here = count - at < WORD ? count - at : WORD;
        uint64_t word = 0;
        memcpy(&word, from + at, here);
        if (!put(&s->memory, address + at, word, UINT64_MAX, here, false))
            return; /* it is not known */
    }
}

/* The part of a cell from `from` on. */
static void cell_read(const struct interpret_memory *m, uint64_t address, unsigned from,
                      uint64_t *bits, uint64_t *known)
{
    const struct interpret_cell *c = cell_find(m, address);
    *bits = c ? c->bits >> 8 * from : 0;
    *known = c ? c->known >> 8 * from : 0;
}

struct interpret_value interpret_load(const struct interpret_state *s, uint64_t address,
                                      unsigned bytes)
{
    uint64_t first = address & ~(uint64_t)(WORD - 1), bits, known, more_bits = 0, more_known = 0;
    unsigned from = (unsigned)(address - first);
    cell_read(&s->memory, first, from, &bits, &known);
    if (from + bytes > WORD) {
        cell_read(&s->memory, first + WORD, 0, &more_bits, &more_known);
        bits |= more_bits << 8 * (WORD - from);
        known |= more_known << 8 * (WORD - from);
    }
    return value_of(bits, known & mask_of(bytes));
}

bool memory_is_written(const struct interpret_state *s, uint64_t address, unsigned bytes)
{
    const struct interpret_cell *c = cell_find(&s->memory, address & ~(uint64_t)(WORD - 1));
    return c && c->written >> 8 * (address % WORD) & mask_of(bytes);
}

void memory_store(struct interpret_state *s, const struct interpret_value *address,
                  struct interpret_value value, unsigned bytes)
{
    if (address->known != UINT64_MAX ||
        !put(&s->memory, address->bits, value.bits, value.known, bytes, true))
        memory_forget(s);
}

void memory_blur(struct interpret_state *s, const struct interpret_value *address, uint64_t bytes)
{
    enum { MOST = 64 * WORD };
    if (address->known != UINT64_MAX || bytes > MOST) {
        memory_forget(s);
        return;
    }
    for (uint64_t at = 0; at < bytes; at += WORD)
        memory_store(s,
                     &(struct interpret_value){address->bits + at, UINT64_MAX, interpret_no_origin},
                     value_unknown(), bytes - at < WORD ? (unsigned)(bytes - at) : WORD);
}
