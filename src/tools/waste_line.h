/* What is known of a line of the program's memory, and where in the table it is: for waste.c.
 *
 *      line      64 bytes of the program: what was there, and bits and ids
 *        copy      the contents at the last look
 *        unread    bytes stored, and neither read nor overwritten since
 *        heads     the first byte of each store
 *        loaded    bytes loaded, and not changed since
 *        pending   bytes of the last store, which is compared with the copy at the next look:
 *                  the hook runs before the instruction
 *        store[], load[]   id + 1 of the last access, for each four bytes
 *
 *      table     [ place 0 | place 1 | ... ] [ place 0 | place 1 | ... ]     two lines for each place
 *
 * Lines that are neighbours have places side by side, so that the table takes memory as the program
 * does. The line that came last is in the first half, the one before it in the second.
 *
 * Context: any. A place is locked while its lines are used.
 * Ownership: the caller's. */
#ifndef PENUMBRA_TOOLS_WASTE_LINE_H
#define PENUMBRA_TOOLS_WASTE_LINE_H

#include "sigsafe/hash.h"
#include "sigsafe/spool.h"
#include "tools/waste_bits.h"

enum {
    LINE = WASTE_LINE,
    CELL = 4,
    CELLS = LINE / CELL,
    PLACES = 1 << 13, /* of two lines: 4 MB, what 1 MB of the program's memory needs */
    LINES = 2 * PLACES,
    GROUP_BITS = 9,
    NEAR = PLACES >> GROUP_BITS, /* side by side: a page of the table */
};

struct line {
    uint64_t address; /* 0: free */
    uint32_t epoch;
    uint32_t lock; /* of the place: in its first line */
    uint64_t copy[LINE / 8];
    uint64_t unread, heads, loaded, pending;
    uint32_t pending_id, pending_before; /* + 1 */
    uint32_t weight;                     /* of the window of the pending store */
    uint32_t voids;
    uint32_t store[CELLS], load[CELLS]; /* + 1; 0: none */
};
_Static_assert(sizeof(struct line) == 4 * LINE, "four bytes for one");

/* Of the line with the same number, where contexts are known: those of its accesses. */
struct line_contexts {
    spool_ref store[CELLS], load[CELLS];
    spool_ref pending_before;
};

static inline uint32_t line_place(uint64_t address)
{
    uint64_t number = address / LINE, hash = hash_word(number / NEAR);
    return (uint32_t)((hash >> (64 - GROUP_BITS)) * NEAR + (number ^ hash >> 40) % NEAR);
}

static inline void words_move(uint32_t *to, const uint32_t *from, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        to[i] = from[i];
}

/* All but the lock. */
static inline void line_move(struct line *to, const struct line *from)
{
    to->address = from->address;
    to->epoch = from->epoch;
    for (unsigned i = 0; i < LINE / 8; i++)
        to->copy[i] = from->copy[i];
    to->unread = from->unread;
    to->heads = from->heads;
    to->loaded = from->loaded;
    to->pending = from->pending;
    to->pending_id = from->pending_id;
    to->pending_before = from->pending_before;
    to->weight = from->weight;
    to->voids = from->voids;
    words_move(to->store, from->store, CELLS);
    words_move(to->load, from->load, CELLS);
}

static inline void line_contexts_move(struct line_contexts *to, const struct line_contexts *from)
{
    words_move(to->store, from->store, CELLS);
    words_move(to->load, from->load, CELLS);
    to->pending_before = from->pending_before;
}

#endif
