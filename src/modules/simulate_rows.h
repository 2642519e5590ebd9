/* Rows of what a processor model has found (profile/simulate.h), in the spool.
 *
 * Context: the module's process.
 * Ownership: rows are the spool's. */
#ifndef PENUMBRA_MODULES_SIMULATE_ROWS_H
#define PENUMBRA_MODULES_SIMULATE_ROWS_H

#include "modules/host_internal.h"
#include "profile/simulate.h"

/* Of an instruction of the current process. NULL: there is no room. */
struct spool_cost *simulate_row_new(struct penumbra_host *host, uint64_t pc);

struct simulate_node {
    struct spool_context_cost *row; /* NULL: there is no room */
    uint32_t number;
};

/* A node of the current process, of what `row` says but for costs. */
struct simulate_node simulate_node_new(struct penumbra_host *host,
                                       const struct spool_context_cost *row);

#endif
