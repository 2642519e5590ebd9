/* The ring of a thread whose tool appends (TOOL_STEALS_R15): r15 of translated code points to where
 * the next record goes.
 *
 *        2^32 k + 2^31 - 64 kB                2^32 k + 2^31
 *        v                                    v
 *        [ records ...      64 kB             ][ slack       256 kB        ][ guard ]
 *        ^ base        ^ r15                    r15d is negative here
 *
 * Code looks at the sign of r15d where a block begins (prologue_ring_as), and leaves for the
 * dispatcher when it is set: the tool's `flush` gets the records, and r15 is base again. So whole
 * blocks are appended between two looks. Not each block looks (ring_needs_look): the slack is what
 * the others may append, and what lies behind it cannot be written.
 *
 * Context: the thread concerned, in the dispatcher or where it does not run translated code.
 * Ownership: the ring belongs to the thread area, and goes with it. */
#ifndef PENUMBRA_ENGINE_RING_H
#define PENUMBRA_ENGINE_RING_H

#include <stdbool.h>

#include "engine/hook.h"
#include "engine/thread.h"

enum {
    HOOKS_MOST = 1024, /* of a block, or as many as there is room for their code */
    RING_SIZE = 64 << 10,
    RING_SLACK = 256 << 10,
    RING_GUARD = 4 << 10,
    /* where hardly anything is left of a budget that is counted when the ring is emptied */
    RING_LEAST = 64,
    /* What a block that does not look appends for a byte of code at most. */
    RING_DENSITY = 32,
    /* What any appends: 8 bytes and a head with each hook, and what is called for each
     * instruction. */
    RING_BLOCK = 12 * HOOKS_MOST + 64 * 3 * HOOK_CALL_APPENDS,
};
/* A run of blocks that do not look stays in one page of code, upwards; a block that looks may
 * precede it. 15 bytes is the longest instruction, 64 a block's number of them. */
_Static_assert(RING_SLACK >= (4096 + 15 * 64) * RING_DENSITY + RING_BLOCK,
               "the slack holds what nobody looks at");

/* Where several tools append, what one does at one point has a head, so that each gets its own:
 *
 *       31 .... 8   7 .... 0
 *      +----------+----------+------------------------+
 *      | bytes    | member   | what is appended       |
 *      +----------+----------+------------------------+  */
struct ring_head {
    uint32_t size, member;
};
static inline struct ring_head ring_head_of(uint32_t word)
{
    return (struct ring_head){ word >> 8, word & 0xff };
}
static inline uint32_t ring_head_word(struct ring_head head)
{
    return head.size << 8 | head.member;
}

/* Makes the thread's ring; t->ring is its beginning. False: no memory. */
bool ring_make_as(struct engine_thread *t);
void ring_unmap_as(struct engine_thread *t);

/* Where an empty ring is filled from: the less is left of a budget that is counted when it is
 * emptied (engine_config.loose), the sooner it is full. */
void ring_begin(struct engine_thread *t);

/* True if a block that appends so many bytes must look whether the ring is full. One that goes on
 * upwards within the page it began in need not, unless it appends much; neither need one that ends
 * in a system call, before which the ring is emptied. */
bool ring_needs_look(const struct hook_block *block, uint32_t appended);

#endif
