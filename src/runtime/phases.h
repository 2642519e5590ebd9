/* The program's phases and pauses (include/penumbra/penumbra.h), as the process's other parts need them.
 *
 * Context: _as functions: any. The rest: ordinary code. */
#ifndef PENUMBRA_RUNTIME_PHASES_H
#define PENUMBRA_RUNTIME_PHASES_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/runtime.h"

/* True if the program has paused the recording. */
static inline bool phases_paused_as(void)
{
    return __atomic_load_n(&rt.paused, __ATOMIC_RELAXED) != 0;
}

/* Nanoseconds of pauses up to `now` (CLOCK_MONOTONIC). */
uint64_t phases_paused_ns_as(uint64_t now);

/* In a fork child with its new process record, before its thread has one: it is in the same phases and
 * pauses as its parent was. */
void phases_fork_child(void);

#endif
