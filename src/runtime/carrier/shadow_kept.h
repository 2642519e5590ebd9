/* Memory that the program keeps from its children (MADV_DONTFORK), as V8 does with its heap: shadows have it all the same.
 *
 *      program   ── ▒▒▒▒ kept ──────┐ given ┌───────────────> kept again: its own children do not have it
 *                                   fork
 *      shadow                        └────────────────────────> has it
 *
 * Nobody else may run between the two calls: memory that is mapped anew in between would be kept too. Nothing is looked at
 * before a shadow has ended by a fault, and then only again while there is something, or when another one has.
 *
 * Kernels before 5.12 moved pages that a device writes to (RDMA) from the parent to the child: there all stays kept.
 *
 * Context: the monitor, right before and after a fork. */
#ifndef PENUMBRA_RUNTIME_CARRIER_SHADOW_KEPT_H
#define PENUMBRA_RUNTIME_CARRIER_SHADOW_KEPT_H

#include <stdint.h>

/* faults: so many shadows have ended by one. */
void shadow_kept_give_as(uint64_t faults);
void shadow_kept_take_as(void);
/* In a forked child: nothing is known. */
void shadow_kept_forget(void);

#endif
