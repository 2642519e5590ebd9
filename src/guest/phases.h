/* The program's phases and pauses (include/penumbra/penumbra.h).
 *
 * Context: _as functions: any. The rest: ordinary code in a process that has a record
 * (guest.process). Where a signal handler may call them too, the caller blocks all signals.
 * Ownership: names are copied. */
#ifndef PENUMBRA_GUEST_PHASES_H
#define PENUMBRA_GUEST_PHASES_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/guest.h"

/* Phases nest. One that is begun under the same outer phase once more is the same one. What is too
 * deep, or one too many, is refused, and counted in the outer one. */
void phases_begin(const char *name);
/* Ends the innermost one. */
void phases_end(void);

/* Pauses nest. */
void phases_pause(void);
void phases_resume(void);

/* True if the program has paused the recording. */
static inline bool phases_paused_as(void)
{
    return __atomic_load_n(&guest.paused, __ATOMIC_RELAXED) != 0;
}

/* Nanoseconds of pauses up to `now` (CLOCK_MONOTONIC). */
uint64_t phases_paused_ns_as(uint64_t now);

/* In a fork child with its new process record, before its thread has one: it is in the same phases
 * and pauses as its parent was. */
void phases_fork_child(void);

#endif
