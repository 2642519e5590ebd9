/* Words of a sequence with TUPLE_WARM: what a thread executed between two windows of a sampled
 * simulation.
 *
 *      63    48 47                                   0
 *     +--------+--------------------------------------+
 *     | slot   | address                              |  a memory operand of the block: its number in
 *     |        |                                      |  the block, from 0. What is left out has not
 *     |        |                                      |  changed any state (tools/values_warm.h)
 *     +--------+--------------------------------------+
 *     | REPEAT | elements                             |  of the operands that follow, up to the next
 *     |        |                                      |  REPEAT or ENTER: a string instruction
 *     +--------+--------------------------------------+
 *     | ENTER  | block                                |  its number, as this ring defines it
 *     +--------+--------+-----------------------------+
 *     | DEFINE | insns  | block                       |  followed by the ids of its instructions'
 *     +--------+--------+-----------------------------+  records (tuples.h), two a word, low half
 *                        31                           0  first
 *
 * The slots of a block are the memory operands of its instructions' records (tuple_insn.memories),
 * in their order.
 *
 * Context: constants and arithmetic. */
#ifndef PENUMBRA_SIGSAFE_WARM_H
#define PENUMBRA_SIGSAFE_WARM_H

#include <stdint.h>

enum {
    WARM_REPEAT = 0xfffd, WARM_DEFINE, WARM_ENTER,
    WARM_SHIFT = 48, WARM_COUNT_SHIFT = 32,
    WARM_INSNS_MOST = 64, /* of a block */
    WARM_LINE_SHIFT = 6,
    WARM_LINES_MOST = 64, /* sample_settings.lines */
    WARM_WORDS_MOST = 2048, /* of a sequence, its header included */
};

static inline uint64_t warm_word(uint32_t top, uint64_t rest)
{
    return (uint64_t)top << WARM_SHIFT | (rest & ((UINT64_C(1) << WARM_SHIFT) - 1));
}
static inline uint32_t warm_top(uint64_t word)
{
    return (uint32_t)(word >> WARM_SHIFT);
}
static inline uint64_t warm_rest(uint64_t word)
{
    return word & ((UINT64_C(1) << WARM_SHIFT) - 1);
}

#endif
