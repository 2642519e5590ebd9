/* Counted paths in the spool: which sequences of blocks a thread executed, and how often.
 *
 *      spool_counts.tables[TABLE_PATHS] ─> spool_paths ─> ...  one a thread, newest first
 *                              ├ tables[0] ─> spool_path_table      in use: tables[current]
 *                              └ tables[1] ─> spool_path_table      next: it grows, or is swept, into this
 *                                               ├ entries    [ path | free | path | path | ... ]
 *                                               └ sequences  [ ids of path | ids of path | ...      ]
 *
 * A path is a sequence of block ids (spool_counts.h: things). It is known by the 64-bit hash of its
 * sequence: of a million paths two have the same one once in 37 million runs. Entries are open
 * addressing, by the hash's upper bits.
 *
 * A table that is three quarters full is copied into one of twice the size. One that has PATHS_MOST
 * entries is *swept* instead: the coldest half and more is left out of the copy, and how often that
 * was executed is added to `dropped`. So memory is bounded, and all that was executed is either in
 * an entry or in `dropped`. A dropped path that comes again begins at 0.
 *
 * What is in the table in use is complete at any moment: a thread may be killed between any two
 * instructions. While a copy is made, the table that is read stays as it is.
 *
 * Context: _as functions: the owning thread, general registers only.
 * Ownership: records live in the spool and are never freed. */
#ifndef PENUMBRA_SIGSAFE_SPOOL_PATHS_H
#define PENUMBRA_SIGSAFE_SPOOL_PATHS_H

#include "sigsafe/spool_counts.h"

enum {
    PATH_BRANCHES = 64,     /* a path ends after so many transfers of control ... */
    PATH_BLOCKS = 128,      /* ... or so many blocks: straight-line code is cut into several */
    PATHS_FIRST = 1 << 8,   /* entries of the first table */
    PATHS_MOST = 1 << 19,   /* 16 MB of entries, 32 MB of sequences, twice */
    PATH_WORDS = 16,        /* of sequences, an entry, on the average */
};

/*   0        8        16       20            24       26           32
 *   +--------+--------+--------+-------------+--------+------------+
 *   | hash   | count  | first  | instructions| length | 0          |
 *   +--------+--------+--------+-------------+--------+------------+  */
struct spool_path {
    uint64_t hash;  /* 0: free. Written last */
    uint64_t count;
    uint32_t first; /* of its ids in the sequences */
    uint32_t instructions;
    uint16_t length; /* blocks */
    uint16_t reserved[3];
};
_Static_assert(sizeof(struct spool_path) == 32, "two paths a cache line");

struct spool_path_table {
    uint32_t capacity; /* entries: a power of two */
    uint32_t words;    /* room for ids */
    spool_ref entries, sequences;
    uint32_t used, words_used;
    uint32_t reserved[2];
};

struct spool_paths {
    spool_ref next;
    int32_t tid;          /* of the thread that it was made for */
    uint32_t tables[2];   /* atomic spool_ref */
    uint32_t current;     /* atomic: 0 or 1 */
    uint32_t swept;       /* times */
    uint64_t dropped_paths; /* entries left out; the same path may be dropped again */
    uint64_t dropped, dropped_instructions; /* executions of such paths */
    uint64_t cut, cut_instructions; /* paths whose beginning or end was not observed */
};

/* A thread's view of its tables. */
struct path_store {
    const struct spool *spool;
    struct spool_paths *record; /* NULL: nothing is kept */
    struct spool_path_table *table;
    struct spool_path *entries;
    uint32_t *sequences;
    uint32_t mask, shift; /* capacity - 1; 64 - log2(capacity) */
};

/* A new record for a thread, with an empty table. False: the spool is full. */
bool paths_begin_as(struct path_store *p, const struct spool *s, struct spool_counts *c,
                    int32_t tid);

/* The same record again, for a thread that goes on where another was (a shadow's seat). False: it
 * is none. */
bool paths_resume_as(struct path_store *p, const struct spool *s, spool_ref record, int32_t tid);

/* There is room for one more path, or could be made. */
bool paths_room_as(struct path_store *p, uint32_t length);

/* A path that is not in the table, executed once. Copies the ids. Without room it is counted as
 * dropped. */
void paths_insert_as(struct path_store *p, uint64_t hash, const uint32_t *ids, uint32_t length,
                     uint32_t instructions);

/* Adds so many executions, and returns the path; NULL: it is not in the table. The hash is not
 * 0. */
static inline const struct spool_path *paths_add_as(struct path_store *p, uint64_t hash,
                                                    uint64_t times)
{
    uint32_t at = (uint32_t)(hash >> p->shift);
    for (;; at++) {
        struct spool_path *path = &p->entries[at & p->mask];
        if (path->hash == hash) {
            path->count += times;
            return path;
        }
        if (!path->hash)
            return NULL;
    }
}

/* One execution. */
static inline const struct spool_path *paths_count_as(struct path_store *p, uint64_t hash)
{
    return paths_add_as(p, hash, 1);
}

#endif
