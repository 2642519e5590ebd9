/* Counting the targets of indirect transfers.
 *
 * At an indirect end, adds to the counter that the thread remembers for this end and target. Where
 * it remembers none, `miss` is called as by hook_call_as: it counts this time itself, and may say
 * what the counter is.
 *
 * For tools with TOOL_TARGETS.
 *
 * Context: as engine/hook.h says. */
#ifndef PENUMBRA_TOOLS_INLINE_TARGET_H
#define PENUMBRA_TOOLS_INLINE_TARGET_H

#include "engine/hook.h"

bool target_count_as(struct hooks *h, hook_function *miss, uint64_t argument);

/* In `miss`: */
void target_remember_as(struct engine_thread *t, uint64_t target, uint32_t counter);
/* A counter for an edge that is met when it is executed, by the tool of that kind; COUNTS_NONE: no
 * room. */
uint32_t target_counter_as(struct engine_thread *t, uint32_t kind, uint64_t from, uint64_t to);

#endif
