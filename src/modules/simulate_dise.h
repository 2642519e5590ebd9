/* Productions that a modelled processor runs (model/dise.h): what matches which instruction, and
 * what they find, in the threads' records of the tool `productions` (sigsafe/spool_productions.h).
 *
 *     tuple ─> site (once an instruction) ─┬─> dise_active ─> values ─> counts and streams
 *                                          └─> dise_step ─> cycles
 *
 * The program's side makes a record for each thread, which says where its memory is, and does
 * nothing else.
 *
 * Context: the host's process, one thread.
 * Ownership: sites live as long as the process; a thread is its core's. */
#ifndef PENUMBRA_MODULES_SIMULATE_DISE_H
#define PENUMBRA_MODULES_SIMULATE_DISE_H

#include "model/dise.h"
#include "modules/host_internal.h"

struct simulate_site;
struct simulate_dise;

/* An instruction of the current process. NULL: no production matches it, or there is no memory. */
struct simulate_site *simulate_site_new(struct penumbra_host *host,
                                        const struct penumbra_tuple *t);

/* The engine of the thread that the current sequence is of; NULL: the recording has no productions,
 * or there is no memory. */
struct simulate_dise *simulate_dise_new(struct penumbra_host *host);
void simulate_dise_free(struct simulate_dise *d);

/* Of one execution. */
struct simulate_values {
    const uint64_t *registers; /* 16, as they were before it */
    uint64_t target;           /* of an indirect transfer: where it goes */
};

/* As dise_add_to. */
void simulate_dise_add_to(struct simulate_dise *d, uint64_t *parts);

/* One that `process` has executed. */
void simulate_dise_step(struct penumbra_host *host, struct simulate_dise *d,
                        struct host_process *process, const struct simulate_site *site,
                        const struct simulate_values *values, const struct uop_insn *insn,
                        const struct uop_executed *x, struct model_cost *cost);

/* Facts about all that there were; those not freed yet are to be summed before. */
void simulate_dise_sum(const struct simulate_dise *d);
void simulate_dise_facts(struct penumbra_host *host);

#endif
