/* What compiled-in instrumentation counts, in the spool (docs/instrumentation.md).
 *
 *      inst_settings.modules ─> spool_module ─> ...      one a module, shared by all processes that
 *                                ├ first: id of block 0      have the same one
 *                                └ tables, as in its file (penumbra/inst.h)
 *      spool_counts.tables[TABLE_FIELDS] ─> spool_inst_thread ─> ...     one a thread
 *                                            ├ rows ─> by id: executions of each block or value
 *                                            ├ values ─> by id: what a value was
 *                                            └ pairs ─> blocks of one burst; targets of calls
 *
 * Code observes in bursts: one begins when a counter of checks runs out, on average at one check in
 * `interval`, and what it meets stands for `interval` times as much. What happens in one burst is
 * not independent, so squares are summed up by bursts:
 *
 *      samples  = sum of k           k: times that a burst has met the block
 *      weight   = sum of w k         w: the interval when it began, times the windows' part
 *      squares  = sum of (w k)^2     by which a confidence interval is made
 *
 * All bursts of a thread in one window (record_windows.h) are one here.
 *
 * Pairs are counted in one burst of INST_PAIR_EVERY, and weighted accordingly; in all of them where
 * every check is a sample.
 *
 * Context: rows and pairs: the owning thread, signal handlers included. Modules: any.
 * Ownership: records live in the spool and are never freed. */
#ifndef PENUMBRA_SIGSAFE_SPOOL_INST_H
#define PENUMBRA_SIGSAFE_SPOOL_INST_H

#include "sigsafe/concise.h"
#include "sigsafe/spool_rows.h"

enum {
    INST_INTERVAL_MOST = 1 << 24, /* checks */
    INST_INTERVAL_DEFAULT = 1000,
    INST_ITERATIONS_MOST = 64,    /* so many intervals and a half are a counter's */
    INST_WINDOWS_MOST = 64,
    INST_TIMER_LEAST_US = 100,
    INST_TIMER_MOST_US = 10000000,
    INST_IDS_MOST = ROWS_CHUNK * ROWS_CHUNKS,
    INST_PAIR_EVERY = 32,
    INST_PAIRS = 1 << 13,         /* slots a thread */
    INST_PAIR_PROBES = 16,
    INST_KEPT_EVERY = 8,          /* of the slots one is kept for targets */
};

struct spool_inst_row {
    uint64_t samples, weight, squares;
    uint32_t burst; /* the last one that has met it */
    uint32_t times; /* in that burst, so far */
};
_Static_assert(sizeof(struct spool_inst_row) == 32, "two rows a cache line");
#define INST_LAYOUT ((struct rows_layout){.row = sizeof(struct spool_inst_row)})

/* What a value was: each time that it was seen, whatever the interval. Of sizes that are allocated
 * also their sum, weighted as executions are. */
struct spool_inst_value {
    uint64_t bytes;    /* sum of w b; b: bytes asked for in a burst */
    uint64_t squares;  /* sum of (w b)^2; UINT64_MAX: more */
    uint64_t in_burst; /* w b of the last burst that has met it, so far */
    uint32_t burst;    /* that burst */
    uint32_t reserved;
    struct hotlist list; /* with INST_VALUE_ENTRIES */
};
enum { INST_VALUE_ENTRIES = HOTLIST_CONCISE_MAX + 1 };
#define INST_VALUE_LAYOUT                                                                          \
    ((struct rows_layout){.row = sizeof(struct spool_inst_value) +                                 \
                                 INST_VALUE_ENTRIES * sizeof(struct hotlist_entry)})

/* Two blocks of one burst (b: an id, not below a), or the target of an indirect call (a: the id of
 * the value's record, with INST_TARGET; b: a key). */
#define INST_TARGET (UINT64_C(1) << 32)
struct spool_inst_pair {
    uint64_t a, b;
    uint64_t samples, weight; /* weight 0: free */
    uint64_t products;        /* sum of (w k)(w l), l: times of the other */
};

struct spool_inst_thread {
    struct spool_rows rows;  /* the list's link; by ids of blocks */
    uint32_t pairs;          /* atomic spool_ref of INST_PAIRS pairs; 0: none yet */
    uint32_t most;           /* the greatest interval at which something was counted */
    uint64_t bursts;
    uint64_t pairs_missed;   /* weight of pairs that there was no room for */
    uint64_t targets_missed; /* the same of targets */
    uint64_t values_missed;  /* the same of values */
    struct spool_rows values; /* by ids of values; `next` is not used */
};

/* The tables of a module, in the order of penumbra/inst.h. */
enum inst_table {
    INST_FUNCTIONS, INST_BLOCKS, INST_EVENTS, INST_VALUES, INST_TYPES, INST_FIELDS, INST_STRINGS,
    INST_TABLES
};

/* Written once, by the first process that has it. */
struct spool_module {
    spool_ref next;
    uint32_t flags;  /* PENUMBRA_INST_* */
    uint32_t first;  /* id of its first block; values' ids come after blocks' */
    uint32_t ids;    /* how many it has */
    uint64_t hash;   /* of what it holds */
    struct {
        uint64_t at;    /* where it begins, as references measure */
        uint64_t bytes;
        spool_ref copy;
        uint32_t reserved;
    } tables[INST_TABLES];
};

/* One time more in this burst, by one instruction a sum: a signal handler may do the same in
 * between. */
static inline void inst_row_add_as(struct spool_inst_row *row, uint32_t burst, uint32_t weight)
{
    uint64_t w = weight;
    if (row->burst != burst) {
        row->burst = burst;
        row->times = 0;
    }
    uint64_t k = row->times, squares = w * w * (2 * k + 1);
    row->times = (uint32_t)k + 1;
    __asm__("addq $1, %0" : "+m"(row->samples) : : "cc");
    __asm__("addq %1, %0" : "+m"(row->weight) : "r"(w) : "cc");
    __asm__("addq %1, %0" : "+m"(row->squares) : "r"(squares) : "cc");
}

#endif
