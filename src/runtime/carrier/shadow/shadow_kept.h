/* Memory that the program keeps from its children (MADV_DONTFORK), as V8 does with its heap:
 * shadows have it all the same.
 *
 *      program   ── ▒▒▒▒ kept ──────┐ given ┌───────────────> kept again: its own children do not have it
 *                                   fork
 *      shadow                        └────────────────────────> has it
 *
 * Nobody else may run between the two calls: memory that is mapped anew in between would be kept
 * too. Threads that sleep in a call of the kernel may begin to run there all the same. So that none
 * of them forks meanwhile, fork waits while memory is given, and nothing is given while a thread is
 * in fork. Nothing is looked at before a shadow has ended by a fault, and then only again while
 * there is something, or when another one has.
 *
 * Kernels before 5.12 moved pages that a device writes to (RDMA) from the parent to the child:
 * there all stays kept.
 *
 * Context: the monitor, right before and after a fork; shadow_kept_fork_*: pthread_atfork, in the
 * thread that forks. */
#ifndef PENUMBRA_RUNTIME_CARRIER_SHADOW_SHADOW_KEPT_H
#define PENUMBRA_RUNTIME_CARRIER_SHADOW_SHADOW_KEPT_H

#include <stdint.h>

/* faults: so many shadows have ended by one. */
void shadow_kept_give_as(uint64_t faults);
void shadow_kept_take_as(void);
/* Around the program's own forks. */
void shadow_kept_fork_begins(void);
void shadow_kept_fork_ends(void);
/* In a forked child, or a shadow: nothing is known, and nobody forks. */
void shadow_kept_forget(void);

#endif
