/* Whether a process is there, or only its number.
 *
 * Context: ordinary code. */
#ifndef PENUMBRA_COLLECTOR_PROCESS_RUNS_H
#define PENUMBRA_COLLECTOR_PROCESS_RUNS_H

#include <stdbool.h>
#include <stdint.h>

/* A process that has exited but was not waited for still has its number: it does not run. */
bool process_runs(int32_t pid);
/* The same of one that has begun after the calling process: a descendant may have a number of
 * another namespace, by which somebody else is known here (1, of a container's first), or
 * nobody. */
bool process_runs_younger(int32_t pid);

/* When it has begun, in nanoseconds of CLOCK_BOOTTIME, rounded down to a tick; 0: it does not
 * run. */
uint64_t process_began_ns(int32_t pid);

/* For how long a thread has been there, in ns, by up to a tick less; UINT64_MAX: it is not. */
uint64_t thread_age_ns(int32_t tid);

#endif
