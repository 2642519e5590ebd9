/* Vector and x87 state of the threads of a shadow, of which the processor holds one at a time.
 *
 * Context: a shadow. The state in the processor is the program's: the engine and its callbacks use
 * general registers only.
 * Ownership: areas end with the process. */
#ifndef PENUMBRA_RUNTIME_CARRIER_SHADOW_SHADOW_VECTORS_H
#define PENUMBRA_RUNTIME_CARRIER_SHADOW_SHADOW_VECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the kernel has put into this signal frame (ucontext_t.uc_mcontext.fpregs) says how large the
 * state is, and what belongs to it. False: nothing that could be loaded again. */
bool shadow_vectors_begin_as(const void *frame);
/* Memory for one thread's; NULL: none. */
void *shadow_vectors_area_as(void);
void shadow_vectors_save(void *area);
/* area: one that was saved to, or the fpregs of a frame like the first. */
void shadow_vectors_load(const void *area);

#endif
