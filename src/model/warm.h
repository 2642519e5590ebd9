/* Functional warming of a core (model/core.h): what it executes is not modelled, but caches, TLBs
 * and predictors see it, so that they are as if it had been (Wunderlich et al., SMARTS, ISCA 2003,
 * section 4.4). No time passes. Lines that are fetched are there at once; what is fetched ahead is
 * fetched, however many misses would be on their way.
 *
 * Context: one thread a core.
 * Ownership: the core's. */
#ifndef PENUMBRA_MODEL_WARM_H
#define PENUMBRA_MODEL_WARM_H

#include "model/core.h"

/* Instructions from pc up to before `end`, one behind the other. */
void model_warm_code(struct model_core *core, uint64_t pc, uint64_t end);
/* Bytes that the instruction at pc accesses. */
void model_warm_data(struct model_core *core, uint64_t pc, uint64_t address, uint64_t size,
                     bool store);
/* The instruction at pc went to `next`; `behind` is the one after it. */
void model_warm_branch(struct model_core *core, enum uop_transfer transfer, uint64_t pc,
                       uint64_t behind, uint64_t next);

#endif
