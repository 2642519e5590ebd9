/* What a processor model has found (model/core.h): what each instruction cost, in the spool and in
 * a profile, which adds up threads; and what each calling context cost, in the spool and in the
 * trees of a profile's threads.
 *
 *     spool_counts.tables[TABLE_SIMULATE] ─> spool_costs ─> ...      newest first, of one process
 *                                              [ spool_cost x SPOOL_COSTS_MOST ], or
 *                                              [ spool_context_cost x SPOOL_CONTEXTS_MOST ]
 *
 *     main @ call of f            a call: no cost of its own
 *     ├ f @ where it begins       what f itself costs, called from there
 *     └ f @ call of g ── g @ where it begins
 *
 * Writer: the process in which the model runs. A row is complete before it is counted.
 *
 * Context: ordinary code; the reader may run while it is written to.
 * Ownership: rows are the spool's; a struct profile owns its table. */
#ifndef PENUMBRA_PROFILE_SIMULATE_H
#define PENUMBRA_PROFILE_SIMULATE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/cost.h"
#include "sigsafe/spool.h"

struct profile;

struct spool_cost {
    uint64_t key;   /* key.h: of the instruction */
    uint64_t count; /* executions */
    struct model_cost cost;
};

/* A node of a thread's tree. Rows of a process are numbered from 1, over its chunks. */
struct spool_context_cost {
    uint64_t key;    /* key.h: of a call, or of where a function begins */
    uint32_t parent; /* a smaller number; 0: the root */
    int32_t thread;  /* as the kernel numbers it; of a parent the same */
    uint64_t count;  /* instructions executed */
    uint64_t parts[COST_CAUSE_COUNT];
};

enum { SPOOL_COSTS_SIZE = 1 << 16 };

struct spool_costs {
    spool_ref next;
    uint32_t count;    /* atomic: complete rows */
    spool_ref machine; /* spool_string: its name */
    uint32_t first;    /* number of its first context; 0: rows are of instructions */
    struct spool_cost rows[];
};
enum {
    SPOOL_COSTS_MOST = (SPOOL_COSTS_SIZE - sizeof(struct spool_costs)) / sizeof(struct spool_cost),
    SPOOL_CONTEXTS_MOST =
        (SPOOL_COSTS_SIZE - sizeof(struct spool_costs)) / sizeof(struct spool_context_cost),
};

/* Where a chunk of contexts has them. */
static inline struct spool_context_cost *spool_costs_contexts(struct spool_costs *chunk)
{
    return (struct spool_context_cost *)(void *)chunk->rows;
}

/* What facts (penumbra/module.h) about instructions without a row in the cracker's table begin
 * with; their mnemonic follows. */
#define SIMULATED_UNKNOWN "no row: "

/* What facts about productions (model/dise.h) begin with: SIMULATED_DISE_ORIGINAL, 0 or 1;
 * SIMULATED_DISE_CYCLES and the name of a part; the name of a count. */
#define SIMULATED_DISE "dise: "
#define SIMULATED_DISE_ORIGINAL SIMULATED_DISE "original"
#define SIMULATED_DISE_CYCLES SIMULATED_DISE "cycles "
/* X(enumerator, name): facts of a sampled simulation. CPIs and halves of intervals are in
 * millionths; the bias is an int64_t. */
#define SIMULATED_FACTS(X)                                                                         \
    X(SAMPLED_PERIOD, "sampled: period")                                                           \
    X(SAMPLED_WARMING, "sampled: warming")                                                         \
    X(SAMPLED_MEASURED, "sampled: measured")                                                       \
    X(SAMPLED_COLD, "sampled: cold") /* 1: nothing between windows updates caches */               \
    X(SAMPLED_INSTRUCTIONS, "sampled: instructions") /* if cold, windows begun x period */         \
    X(SAMPLED_WINDOWS, "sampled: windows")                                                         \
    X(SAMPLED_CPI, "sampled: CPI, millionths")                                                     \
    X(SAMPLED_HALF, "sampled: interval of the CPI, millionths") /* none: fewer than two */         \
    X(SAMPLED_LONG, "sampled: longer windows")                                                     \
    X(SAMPLED_BIAS, "sampled: bias, millionths")                                                   \
    X(SAMPLED_BIAS_HALF, "sampled: interval of the bias, millionths")
#define SIMULATED_FACT(id, name) id,
enum simulated_fact { SIMULATED_FACTS(SIMULATED_FACT) SIMULATED_FACT_COUNT };
#undef SIMULATED_FACT

/* Metrics of a profile's trees (profile/metrics.h), all of the trigger "cycles": cycles, and what
 * they are made of, named as in COST_CAUSES. */
enum simulated_metric {
    SIMULATED_CYCLES, SIMULATED_INSTRUCTIONS, SIMULATED_CAUSES,
    SIMULATED_METRICS = SIMULATED_CAUSES + COST_CAUSE_COUNT
};
#define SIMULATED_TRIGGER "cycles"

/* In parts of a cycle: an honest count exceeds this after a year. */
#define SIMULATED_PARTS_MOST (UINT64_C(1) << 60)

/* Adds them to a profile that has the first. False without memory. */
bool profile_simulated_metrics(struct profile *p);
/* Whether its trees have them. */
bool profile_is_simulated(const struct profile *p);

/* image, process: as in struct profile_block. */
struct profile_cost {
    uint32_t image, process;
    uint64_t offset; /* of the instruction: link-time address */
    uint64_t count;
    struct model_cost cost;
};

struct profile_simulated {
    struct profile_cost *list; /* by (image + 2, process, offset) */
    uint32_t count, capacity;
    char *machine;             /* its name, or "several machines"; NULL: not known */
};

struct profile_simulated *profile_simulated_new(void);
void profile_simulated_free(struct profile_simulated *s);

/* Adds what one instruction cost. False without memory. */
bool profile_simulated_add(struct profile_simulated *s, const struct profile_cost *cost);

/* *to += from, and never more than there can be. */
void profile_cost_sum(struct profile_cost *to, const struct profile_cost *from);

#endif
