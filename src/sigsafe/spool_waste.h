/* Waste: stores that nobody reads, stores of what is there already, loads of what has been loaded.
 * What is kept of each load and store of a thread in the spool, and in a profile, which adds up
 * threads. docs/waste.md defines the terms.
 *
 *      row of an access ─> cell ─> cell ...    of its loads, stores, and each kind of waste
 *      row of THING_TOTALS ─> waste_totals     the thread's sums; one row of each thread
 *                              └ cells ─> [ cell | cell | ... ]   where the next one is taken from
 *
 * Rows (spool_rows.h) are of THING_ACCESS. The first cell says how often the access was made. Pairs
 * are kept with the access that was in vain, the most frequent few of each: one moves up when it
 * has become more frequent than the cell above. Where there are too many, the least gives its place
 * to the new one, and is counted with its kind's others.
 *
 * Context: of rows, the owning thread, general registers only; of profiles, ordinary code.
 * Ownership: rows are the spool's; a struct profile owns its table. */
#ifndef PENUMBRA_SIGSAFE_SPOOL_WASTE_H
#define PENUMBRA_SIGSAFE_SPOOL_WASTE_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/spool_rows.h"

/* X(enumerator, name in --json, what the access was, and with what it makes a pair) */
#define WASTE_KINDS(X)                                                                             \
    X(WASTE_DEAD, "dead", "a store that is overwritten unread, and the store that does")           \
    X(WASTE_SILENT, "silent", "a store of what is there, and the store before")                    \
    X(WASTE_REDUNDANT, "redundant", "a load of what has been loaded, and the load before")
#define WASTE_ENUMERATOR(id, name, what) id,
enum waste_kind { WASTE_KINDS(WASTE_ENUMERATOR) WASTE_KIND_COUNT };
#undef WASTE_ENUMERATOR

/* X(name): of each access. Instances and bytes; with 1 line in n observed, each counts n times.
 * The others of a kind are instances of pairs that had to go. */
#define WASTE_FIGURES(X)                                                                           \
    X(loads) X(load_bytes) X(stores) X(store_bytes) X(dead) X(dead_bytes) X(frame) X(frame_bytes)  \
    X(silent) X(silent_bytes) X(redundant) X(redundant_bytes) X(other_dead) X(other_silent)        \
    X(other_redundant)
#define WASTE_FIELD(name) uint64_t name;
struct waste_figures { WASTE_FIGURES(WASTE_FIELD) };

/* X(name): of a thread. The sums of products are of windows: a run of a burst or shadow, or a
 * piece of a whole run in which the same lines are observed. In bytes, of the lines observed. */
#define WASTE_SUMS(X)                                                                              \
    X(instructions)                                                                                \
    X(live_bytes)    /* stored, and read before they were overwritten */                           \
    X(judged_bytes)  /* stored, of which it is known whether that changed anything */              \
    X(evicted)       /* lines forgotten for want of room */                                        \
    X(voids)         /* times that anything may have been read unseen */                           \
    X(unfollowed)    /* executions of instructions whose memory is not followed */                 \
    X(windows) X(seen_stores) X(seen_dead) X(seen_silent) X(seen_loads) X(seen_redundant)          \
    X(stores_stores) X(dead_dead) X(dead_stores) X(silent_silent) X(silent_stores)                 \
    X(loads_loads) X(redundant_redundant) X(redundant_loads)
struct waste_sums { WASTE_SUMS(WASTE_FIELD) };
#undef WASTE_FIELD

enum {
    WASTE_PAIRS = 5,
    WASTE_WEIGHT = 16, /* of a shadow: one line in so many is observed */
    /* of a whole run, after its beginning: one line in so many, and one stretch of instructions
     * in so many; the weight of what is observed */
    WASTE_RUN_LINES = 4,
    WASTE_RUN_STRETCHES = 16,
    WASTE_RUN_WEIGHT = WASTE_RUN_LINES * WASTE_RUN_STRETCHES,
};

struct waste_pair {
    uint32_t with; /* id + 1 */
    uint32_t kind; /* enum waste_kind */
    uint64_t count, bytes;
};

/* What a cell counts: a kind of waste (enum waste_kind), or as follows. */
enum { WASTE_LOADS = WASTE_KIND_COUNT, WASTE_STORES, WASTE_FRAME, WASTE_CELL_KINDS };

struct waste_cell {
    spool_ref next;
    uint32_t kind;
    uint32_t with; /* of a pair: id + 1; of waste, 0: the others, whose pairs are not kept */
    uint32_t reserved;
    uint64_t count, bytes;
};
_Static_assert(sizeof(struct waste_cell) == 32, "as docs/waste.md says");

enum { WASTE_CELLS = 128 /* that are made at once */ };
struct waste_totals {
    struct waste_sums sums;
    spool_ref cells; /* the last ones */
    uint32_t left;   /* of these are free */
};

struct spool_waste {
    spool_ref first; /* 0: none yet */
};
#define WASTE_LAYOUT ((struct rows_layout){.row = sizeof(struct spool_waste)})

static inline struct waste_cell *waste_cell_at(const struct spool *s, spool_ref ref)
{
    return ref ? spool_at(s, ref, sizeof(struct waste_cell)) : NULL;
}

/* A new cell, in *place. False: there is no room. */
static inline bool waste_cell_make_as(const struct spool *s, struct waste_totals *t,
                                      spool_ref *place, struct waste_cell contents)
{
    struct waste_cell *all = t->left ? NULL : spool_alloc_as(s, WASTE_CELLS * sizeof *all);
    if (!t->left && !all)
        return false;
    if (!t->left) {
        t->cells = spool_ref_of(s, all);
        t->left = WASTE_CELLS;
    }
    spool_ref ref = t->cells + (WASTE_CELLS - t->left) * (spool_ref)(sizeof *all / SPOOL_UNIT);
    struct waste_cell *c = waste_cell_at(s, ref);
    if (!c)
        return false;
    t->left--;
    *c = contents;
    __atomic_store_n(place, ref, __ATOMIC_RELEASE);
    return true;
}

/* Where the list of a row has a cell of the same kind and pair, or ends. */
struct waste_search {
    spool_ref *place;
    struct waste_cell *found, *above; /* NULL: none */
    struct waste_cell *least;         /* of the pairs met */
    unsigned pairs;
};

static inline struct waste_search waste_search(const struct spool *s, struct spool_waste *row,
                                               uint32_t kind, uint32_t with)
{
    struct waste_search q = {.place = &row->first};
    while ((q.found = waste_cell_at(s, *q.place)) &&
           (q.found->kind != kind || q.found->with != with)) {
        q.pairs += q.found->with != 0;
        if (q.found->with && (!q.least || q.found->bytes < q.least->bytes))
            q.least = q.found;
        q.above = q.found;
        q.place = &q.found->next;
    }
    return q;
}

/* So much more; a pair may move up. `above`: NULL if that is the first place. */
static inline void waste_cell_add(struct waste_cell *c, struct waste_cell *above, uint64_t count,
                                  uint64_t bytes)
{
    struct waste_cell was = *c;
    c->count += count;
    c->bytes += bytes;
    if (!c->with || !above || c->bytes <= above->bytes)
        return;
    *c = *above;
    *above = (struct waste_cell){above->next, was.kind, was.with, 0, was.count + count,
                                 was.bytes + bytes};
    c->next = was.next;
}

/* `more` (its next: 0) is added to the cell of the same kind and pair. False: there is no room, and
 * nothing was done. */
static inline bool waste_note_as(const struct spool *s, struct waste_totals *t,
                                 struct spool_waste *row, struct waste_cell more)
{
    struct waste_search q = waste_search(s, row, more.kind, more.with);
    if (q.found) {
        bool second = q.above == waste_cell_at(s, row->first);
        waste_cell_add(q.found, second ? NULL : q.above, more.count, more.bytes);
        return true;
    }
    if (!more.with || q.pairs < WASTE_PAIRS)
        return waste_cell_make_as(s, t, q.place, more);
    struct waste_search others = waste_search(s, row, q.least->kind, 0);
    struct waste_cell gone = {.kind = q.least->kind, .count = q.least->count,
                              .bytes = q.least->bytes};
    if (others.found)
        waste_cell_add(others.found, NULL, gone.count, gone.bytes);
    else if (!waste_cell_make_as(s, t, others.place, gone))
        return false;
    more.next = q.least->next;
    *q.least = more;
    return true;
}

static inline uint64_t waste_capped(uint64_t v)
{
    return v >> 27 ? UINT64_C(1) << 27 : v; /* the sums of squares are to fit */
}

/* A window is over, in which so much was seen_... */
static inline void waste_window_note(struct waste_sums *to, const struct waste_sums *w)
{
    uint64_t stores = waste_capped(w->seen_stores), loads = waste_capped(w->seen_loads);
    uint64_t dead = waste_capped(w->seen_dead), silent = waste_capped(w->seen_silent);
    uint64_t redundant = waste_capped(w->seen_redundant);
    to->windows++;
    to->seen_stores += stores;
    to->seen_dead += dead;
    to->seen_silent += silent;
    to->seen_loads += loads;
    to->seen_redundant += redundant;
    to->stores_stores += stores * stores;
    to->dead_dead += dead * dead;
    to->dead_stores += dead * stores;
    to->silent_silent += silent * silent;
    to->silent_stores += silent * stores;
    to->loads_loads += loads * loads;
    to->redundant_redundant += redundant * redundant;
    to->redundant_loads += redundant * loads;
}

/* ---- in a profile ---- */

/* image, process: as in struct profile_block. */
struct profile_waste_site {
    uint32_t image, process;
    uint64_t offset; /* of the instruction: link-time address */
    uint32_t bytes;  /* accessed at once; 0: a repeated string */
    uint32_t kind;   /* enum access_way */
    struct waste_figures figures;
};

/* The access in vain, and the one that it makes a pair with. */
struct profile_waste_pair {
    uint32_t image, process;
    uint64_t offset;
    uint32_t to_image, to_process;
    uint64_t to;
    uint32_t kind; /* enum waste_kind */
    uint64_t count, bytes;
};

/* A call on a path: its instruction. The paths of a profile share one tree. */
struct profile_waste_call {
    uint32_t image, process;
    uint64_t offset; /* as in struct profile_node: of the call, or of what a signal interrupted */
    uint32_t caller; /* 1 + the index of the call that led to it; 0: none did */
};

/* The same pair by the call paths of both: 1 + the index of the last call, or 0. */
struct profile_waste_path {
    struct profile_waste_pair pair;
    uint32_t from, to; /* of the access in vain, of the other one */
    uint32_t folded;   /* bit 0: calls are missing at the end of `from`; bit 1: of `to` */
};

/* Beside the pairs, where contexts were known. */
struct profile_waste_paths {
    struct profile_waste_call *calls; /* callers first; settled: by (depth, caller, place) */
    uint32_t call_count, call_capacity;
    struct profile_waste_path *list; /* in the order of pairs, then by from, to, folded */
    uint32_t count, capacity;
    uint64_t evicted, unknown; /* instances */
    bool kept;                 /* contexts were known */
};

struct profile_waste {
    struct profile_waste_site *sites; /* by (image + 2, process, offset, kind, bytes) */
    uint32_t site_count, site_capacity;
    /* by (image + 2, process, offset, to_image + 2, to_process, to, kind) */
    struct profile_waste_pair *pairs;
    uint32_t pair_count, pair_capacity;
    struct profile_waste_paths paths;
    struct waste_sums sums;
    uint64_t missed; /* accesses for which there was no memory */
};

struct profile_waste *profile_waste_new(void);
void profile_waste_free(struct profile_waste *w);
/* False without memory. */
bool profile_waste_add_site(struct profile_waste *w, const struct profile_waste_site *site);
bool profile_waste_add_pair(struct profile_waste *w, const struct profile_waste_pair *pair);

/* In the order of a profile's pairs, as qsort wants it; 0: of the same accesses and kind. */
int profile_waste_pairs_compare(const void *a, const void *b);
void profile_waste_figures_add(struct waste_figures *to, const struct waste_figures *from);

/* "load", "store", "update". */
const char *profile_waste_access(uint32_t kind);
/* "dead", "silent", "redundant". */
const char *profile_waste_kind(uint32_t kind);

#endif
