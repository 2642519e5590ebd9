/* Tables: what a tool keeps that counters cannot hold, as the collector has it. One row a tool,
 * made from the list of tools (sigsafe/tools.h); the table itself is the tool's own structure, an
 * observation of the profile's (observations.h).
 *
 *     spool ──begin, window, counter, read──> table ──settle──> file (kind_NAME, kind/kind.h)
 *                                               ^
 *                                            append, from another profile's
 *
 * Context: ordinary code. The spool is hostile (spool_counts.h).
 * Ownership: the profile owns its tables. */
#ifndef PENUMBRA_PROFILE_TABLE_TABLE_H
#define PENUMBRA_PROFILE_TABLE_TABLE_H

#include "profile/spool_counts.h"

/* A counter of a thread, of one word or more. */
struct table_counter {
    uint32_t first, id;              /* the id, and the first of those that lie in a row with it */
    const uint64_t *words;
    uint32_t count;                  /* words of each counter */
    const struct spool_thing *thing; /* what is counted; NULL: not known */
};

/* How what is appended has to be renumbered. */
struct table_append {
    const uint32_t *image_of; /* profile_counts_merge */
    uint32_t first_process;
    uint32_t first_block;     /* index of its block 0 */
};

/* Any may be NULL. */
struct profile_table {
    /* From the spool, for each process: before its counters are looked at; for each thread that
     * counts; for each of its counters, where there is a q->state (*mine: nobody else's); when all
     * have been looked at; and at the end, in any case. False without memory. */
    bool (*begin)(struct counts_process *q);
    bool (*window)(struct counts_process *q, const struct spool_window *w);
    bool (*counter)(struct counts_process *q, const struct table_counter *c, bool *mine);
    bool (*read)(struct counts_process *q);
    void (*end)(struct counts_process *q);

    void (*free)(void *table);
    /* The table is a sample although all of the run was observed. */
    bool (*sampled)(const void *table);
    /* False: there are no more. Images are session numbers until all of the spool has been read. */
    bool (*site)(void *table, uint32_t at, struct profile_site *out);
    /* Adds all of `from`; *into is NULL at first. False without memory. */
    bool (*append)(void **into, const void *from, const struct table_append *how);
    /* Sorts it, and makes one of what is equal; block i has become new_index[i]. False without
     * memory. */
    bool (*settle)(void *table, const uint32_t *new_index);
};

/* By enum tool_table (sigsafe/tools.h), and NULL behind the last. */
extern const struct profile_table *const profile_tables[];

/* The tool that keeps it: enum tool_kind. */
uint32_t table_tool(uint32_t table);

#endif
