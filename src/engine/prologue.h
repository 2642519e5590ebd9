/* What stands before a block's first instruction: the comparison with the code it was made from,
 * the look at the ring, and the budget. None changes a register, or a flag that is live.
 *
 * Context: the dispatcher, under the engine's lock. */
#ifndef PENUMBRA_ENGINE_PROLOGUE_H
#define PENUMBRA_ENGINE_PROLOGUE_H

#include "engine/translate.h"

/* Leaves by EXIT_STALE when the program's bytes are not those that were translated. */
void prologue_check_as(struct translation *x);

/* Leaves by EXIT_RING when the thread's ring is full (ring.h). */
void prologue_ring_as(struct translation *x, uint8_t live_flags);

/* Counts x->count instructions down; leaves by EXIT_BUDGET when fewer are left. A loose budget
 * (engine_config) is counted in r15, and leaves before that, where less than nothing is left and
 * the block may go on downwards. */
void prologue_budget_as(struct translation *x);

#endif
