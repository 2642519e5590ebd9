/* Exact counts from a spool (sigsafe/spool_counts.h), for spool_read.c and for tools' tables
 * (table/table.h). As hostile as all of it.
 *
 * Context: ordinary code. The spool may be written to concurrently.
 * Ownership: the caller's view and counts. */
#ifndef PENUMBRA_PROFILE_SPOOL_COUNTS_H
#define PENUMBRA_PROFILE_SPOOL_COUNTS_H

#include "profile/profile.h"
#include "profile/spool_view.h"
#include "sigsafe/spool_counts.h"

struct spool_contexts; /* spool_contexts.h */
struct inst_modules;   /* inst_modules.h */

/* Zeroed but for what spool_counts_reader sets; lives as long as one spool is read. */
struct spool_counts_reader {
    struct spool_view *view;
    uint64_t tsc_hz;
    uint64_t tools;    /* that observed (sigsafe/tools.h) */
    uint64_t steps;    /* chunks that may still be looked at */
    uint64_t counters; /* counters that may still be looked at */
    uint64_t table_bytes;                   /* of tools' tables, likewise */
    struct spool_contexts *contexts; /* of the processes read so far; NULL: no table keeps any */
    struct inst_modules *modules; /* instrumented ones; NULL: not read yet */
    uint32_t block_capacity, edge_capacity; /* of the profile_counts that grow */
};

static inline struct spool_counts_reader
spool_counts_reader(struct spool_view *v, uint64_t tools)
{
    return (struct spool_counts_reader){.view = v,
                                        .tsc_hz = spool_header(&v->spool)->tsc_hz,
                                        .tools = tools,
                                        .steps = v->spool.mapped / SPOOL_UNIT,
                                        .counters = v->spool.mapped / sizeof(uint64_t),
                                        .table_bytes = v->spool.mapped};
}

/* Frees what reading has made. */
void spool_counts_close(struct spool_counts_reader *r);

/* Adds the counts of process number `index`, and tools' tables, to those of the profile. Images are
 * session numbers (key.h), or PROFILE_IMAGE_NONE; the records are not settled. False without
 * memory. */
bool spool_counts_read(struct spool_counts_reader *r, spool_ref ref,
                       const struct profile_process *process, uint32_t index,
                       struct profile *p);

/* ---- for tools' tables ---- */

/* The chunks of one process's things, newest first: what an id means is in the first one that
 * begins at or below it. */
struct counts_chunks {
    spool_ref newest;
    const struct spool_things **list;
    uint32_t *first; /* read once: the program may change it */
    uint32_t count, capacity;
};

/* One process, while its counts are read. */
struct counts_process {
    struct spool_counts_reader *r;
    const struct spool_counts *record;
    struct profile *profile;
    struct profile_counts *to;          /* the profile's */
    uint32_t process;                   /* its number */
    const struct profile_process *maps; /* the process itself: its maps */
    struct counts_chunks chunks;
    const struct profile_table *watcher; /* sees all counters, those that are 0, too; NULL: none */
    void *state[COUNTS_TABLES];          /* the table's own */
};

/* No honest counter exceeds this: at a thousand million a second it takes a year. */
#define SPOOL_COUNTER_MAX (UINT64_C(1) << 55)

/* A copy of the record of an id. False if there is none that is complete. */
bool spool_counts_thing(struct counts_process *q, uint32_t id, struct spool_thing *out);
/* It is a block as there can be one. */
bool spool_counts_is_block(const struct spool_thing *t);
/* It is a load, a store or both. */
bool spool_counts_is_access(const struct spool_thing *t);
/* It is the tool's, one of those that observed. */
bool spool_counts_is_of(const struct counts_process *q, const struct spool_thing *t, uint32_t kind);
/* Where several tools counted the same blocks, one of them is taken for all: is it this thing's? */
bool spool_counts_weighs(const struct counts_process *q, const struct spool_thing *t);
/* Adds a block's executions, or, of a tool that is not taken, the block alone. False without
 * memory. */
bool spool_counts_add_block(struct counts_process *q, const struct spool_thing *t, uint64_t count);
/* The image of a key: a session number for now, or PROFILE_IMAGE_NONE. */
uint32_t spool_counts_image(uint64_t key);
/* The array with room for one record behind `count`; NULL without memory, or if that is too
 * many. */
void *spool_counts_room(void *array, uint32_t count, uint32_t *capacity, size_t each);

#endif
