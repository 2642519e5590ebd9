/* What a thread has counted by compiled-in instrumentation, from a spool (sigsafe/spool_inst.h).
 *
 *      spool_inst.c          executions of blocks ─> calls, accesses to fields, pairs
 *      spool_inst_values.c   values ─> hotlists, allocations
 *
 * Context: ordinary code. The spool may be written to concurrently.
 * Ownership: the caller's. */
#ifndef PENUMBRA_PROFILE_SPOOL_INST_H
#define PENUMBRA_PROFILE_SPOOL_INST_H

#include "profile/events.h"
#include "profile/spool_rows.h"
#include "sigsafe/spool_inst.h"

struct inst_thread_view {
    struct spool_rows_table *rows, *values;
    const struct spool_inst_pair *pairs; /* NULL: it has none */
    uint64_t values_missed;
};

/* Adds the process's values to its profile. False without memory. */
bool spool_inst_values(struct counts_process *q, const struct inst_thread_view *threads,
                       uint32_t count);

#endif
