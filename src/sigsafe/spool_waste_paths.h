/* Pairs of accesses by the call paths of both: what each thread keeps in the spool, beside its rows
 * (spool_waste.h), where a tool knows contexts. docs/waste.md has the picture.
 *
 *      spool_counts.tables[WASTE_PATHS_TABLE] ─> spool_waste_paths ─> ...   one a thread, newest first
 *                                                  └ chunks[] ─> sets, from the first that is used
 *
 * A context is a node of a thread's tree (cct.h): the call that the code was in. The nodes of a
 * recording's trees do not move.
 *
 * Context: the owning thread, general registers only.
 * Ownership: the spool's. */
#ifndef PENUMBRA_SIGSAFE_SPOOL_WASTE_PATHS_H
#define PENUMBRA_SIGSAFE_SPOOL_WASTE_PATHS_H

#include "sigsafe/hash.h"
#include "sigsafe/spool_waste.h"
#include "sigsafe/tools.h"

enum {
    WASTE_PATHS_TABLE = COUNTS_TABLES - 1,
    WASTE_PATH_BITS = 12,
    WASTE_PATH_SETS = 1 << WASTE_PATH_BITS,
    WASTE_PATH_WAYS = 8,
    WASTE_PATH_CHUNK = 64, /* sets */
};
_Static_assert((unsigned)TABLE_COUNT <= (unsigned)WASTE_PATHS_TABLE, "no tool has this list");

struct waste_path {
    uint32_t access, with;  /* ids + 1; access 0: free */
    uint32_t from, to;      /* contexts: of the access, of the other one; 0: not known */
    uint32_t kind;          /* enum waste_kind */
    uint32_t reserved;
    uint64_t count, bytes;
    uint64_t rank;          /* bytes, and those of the entries that had to go for it */
};
_Static_assert(sizeof(struct waste_path) == 48, "as docs/waste.md says");

struct waste_path_set {
    struct waste_path ways[WASTE_PATH_WAYS];
};

struct spool_waste_paths {
    spool_ref next;
    uint32_t reserved;
    uint64_t evicted; /* instances */
    /* atomic: WASTE_PATH_CHUNK of struct waste_path_set each; 0: not made yet */
    spool_ref chunks[WASTE_PATH_SETS / WASTE_PATH_CHUNK];
};

/* The set in which the pair is or would be; NULL: there is no room for it. */
static inline struct waste_path_set *waste_path_set_as(const struct spool *s,
                                                       struct spool_waste_paths *t, uint32_t number)
{
    enum { SIZE = WASTE_PATH_CHUNK * sizeof(struct waste_path_set) };
    spool_ref *ref = &t->chunks[number / WASTE_PATH_CHUNK];
    struct waste_path_set *sets = *ref ? spool_at(s, *ref, SIZE) : spool_alloc_as(s, SIZE);
    if (sets && !*ref)
        __atomic_store_n(ref, spool_ref_of(s, sets), __ATOMIC_RELEASE);
    return sets ? &sets[number % WASTE_PATH_CHUNK] : NULL;
}

static inline uint32_t waste_path_number(const struct waste_path *p)
{
    uint64_t hash = hash_word((uint64_t)p->access << 32 | p->with);
    hash = hash_word(hash ^ hash >> 32 ^ ((uint64_t)p->from << 32 | p->to));
    return (uint32_t)(hash >> (64 - WASTE_PATH_BITS));
}

/* `one`: instances more of a pair, of rank 0. */
static inline void waste_path_note_as(struct spool_waste_paths *t, struct waste_path_set *set,
                                      const struct waste_path *one)
{
    struct waste_path *least = set->ways, *end = least + WASTE_PATH_WAYS;
    for (struct waste_path *p = least; p < end; p++) {
        if (p->access == one->access && p->with == one->with && p->from == one->from &&
            p->to == one->to && p->kind == one->kind) {
            p->count += one->count;
            p->bytes += one->bytes;
            p->rank += one->bytes;
            return;
        }
        if (p->rank < least->rank)
            least = p;
    }
    uint64_t rank = least->rank;
    t->evicted += least->count;
    *least = *one;
    least->rank = rank + one->bytes;
}

#endif
