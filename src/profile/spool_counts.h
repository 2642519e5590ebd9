/* Exact counts from a spool (sigsafe/spool_counts.h), for spool_read.c. As hostile as all of it.
 *
 * Context: ordinary code. The spool may be written to concurrently.
 * Ownership: the caller's view and counts. */
#ifndef PENUMBRA_PROFILE_SPOOL_COUNTS_H
#define PENUMBRA_PROFILE_SPOOL_COUNTS_H

#include "profile/profile.h"
#include "profile/spool_view.h"
#include "sigsafe/spool_paths.h"
#include "sigsafe/spool_results.h"
#include "sigsafe/spool_streams.h"

/* Zeroed but for what spool_counts_reader sets; lives as long as one spool is read. */
struct spool_counts_reader {
    struct spool_view *view;
    uint64_t tsc_hz;
    uint64_t steps;    /* chunks that may still be looked at */
    uint64_t counters; /* counters that may still be looked at */
    uint64_t paths;    /* entries of tables of paths, likewise */
    uint64_t rows;     /* bytes of rows, likewise */
    uint32_t block_capacity, edge_capacity; /* of the profile_counts that grow */
};

static inline struct spool_counts_reader spool_counts_reader(struct spool_view *v, uint64_t tsc_hz)
{
    return (struct spool_counts_reader){.view = v, .tsc_hz = tsc_hz,
                                        .steps = v->spool.mapped / SPOOL_UNIT,
                                        .counters = v->spool.mapped / sizeof(uint64_t),
                                        .paths = v->spool.mapped / sizeof(struct spool_path),
                                        .rows = v->spool.mapped};
}

/* Adds the counts of process number `index`, and what is known of results to *values, which is made if it is
 * NULL. Images are session numbers (key.h), or PROFILE_IMAGE_NONE; the records are not settled. False without
 * memory. */
bool spool_counts_read(struct spool_counts_reader *r, spool_ref ref, const struct profile_process *process, uint32_t index,
                       struct profile_counts *to, struct profile_values **values);

#endif
