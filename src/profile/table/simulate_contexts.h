/* What calling contexts have cost in a processor model: from the spool into the trees of threads,
 * weighted by cycles, instructions, and cycles by cause.
 *
 * Context: ordinary code. The spool is hostile.
 * Ownership: the profile owns its trees. */
#ifndef PENUMBRA_PROFILE_TABLE_SIMULATE_CONTEXTS_H
#define PENUMBRA_PROFILE_TABLE_SIMULATE_CONTEXTS_H

#include "profile/simulate.h"
#include "profile/table/table.h"

/* The trees of the process's threads, of all chunks of contexts, in any order. False without
 * memory. */
bool simulate_contexts_read(struct counts_process *q, struct spool_costs *const *chunks,
                            uint32_t count);

#endif
