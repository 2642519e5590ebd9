/* Productions in the decode stage of a core: Dynamic Instruction Stream Editing (Corliss, Lewis and
 * Roth, 2003) as Mousa and Krintz, HPS: Hybrid Profiling Support, 2005, describe and extend it.
 * What productions find is the state machine's of sigsafe/production.h; here is what it costs.
 *
 *                 pattern table            replacement table
 *     insn ──────> matches? ──> mask ──────> sequence: handlers' instructions, then the instruction
 *                                │ flags                (a cycle for the replacement)
 *                     conditionals table ──> counters
 *
 *     original    there is no mask, and no conditionals table: whatever matches is replaced, and the
 *                 sequence checks flags and moves counters by instructions
 *     HPS         masked patterns cost nothing, and counters move beside the pipeline
 *
 * Several cores execute the same program, each with one part more of what the productions cost. The
 * differences of their cycles are the parts (the paper's Figure 7).
 *
 * Tables begin with what fits of the productions, in their order. What is not there when it is
 * wanted is a miss: fetch stalls, and what was used least recently makes room.
 *
 * A sequence's branches are predicted to go as in the beginning, when no flag has changed.
 *
 * Context: one thread an engine.
 * Ownership: dise_new makes, dise_free frees. Machine and program must live as long. */
#ifndef PENUMBRA_MODEL_DISE_H
#define PENUMBRA_MODEL_DISE_H

#include "model/core.h"
#include "sigsafe/production.h"

enum dise_mode { DISE_HPS, DISE_ORIGINAL };

/* The cores, each with what the one before it has, and... X(enumerator, name in files, what) */
#define DISE_PARTS(X)                                                                              \
    X(NONE, none, "without productions")                                                           \
    X(SAMPLING, sampling, "handlers, and the cycle of their replacement")                          \
    X(BASIC, basic, "counting events in the sequences: when to sample")                            \
    X(CHECKS, checks, "whether to sample, at each instruction of interest")                        \
    X(TABLES, tables, "what the tables have no room for")

#define DISE_ENUMERATOR(id, name, what) DISE_##id,
enum dise_part { DISE_PARTS(DISE_ENUMERATOR) DISE_PART_COUNT };
#undef DISE_ENUMERATOR

/* X(enumerator, name in files, title) */
#define DISE_COUNTS(X)                                                                             \
    X(MATCHED, matched, "instructions that patterns match")                                        \
    X(REPLACED, replaced, "instructions replaced")                                                 \
    X(INSERTED, inserted, "micro-operations of sequences")                                         \
    X(ACTIONS, actions, "handlers called")                                                         \
    X(MOVED, moved, "counters moved")                                                              \
    X(PT_MISSES, pt_misses, "pattern table misses")                                                \
    X(RT_MISSES, rt_misses, "replacement table misses")                                            \
    X(CT_MISSES, ct_misses, "conditionals table misses")

#define DISE_ENUMERATOR(id, name, title) DISE_COUNT_##id,
enum dise_count { DISE_COUNTS(DISE_ENUMERATOR) DISE_COUNT_COUNT };
#undef DISE_ENUMERATOR

/* Of a run: cycles of each core (of one that is not modelled: those of the core before it). */
struct dise_sums {
    uint64_t cycles[DISE_PART_COUNT];
    uint64_t counts[DISE_COUNT_COUNT];
};

/* One action of a replaced instruction. */
struct dise_action {
    uint8_t group;
    uint8_t operand; /* whose address is one of the values */
    uint64_t a, b;
};

/* What an instruction does to the counters. */
struct dise_moved {
    uint32_t set;        /* bit n: counter n was set */
    uint32_t overflowed; /* bit n: counter n's flag came up */
};

struct dise;

/* False: the machine has no room for a production, or too few counters or registers. */
bool dise_check(const struct machine *m, const struct production_program *p, enum dise_mode mode,
                struct err *e);

/* One thread's. The two have passed dise_check. NULL without memory. */
struct dise *dise_new(const struct machine *m, const struct production_program *p,
                      enum dise_mode mode);
void dise_free(struct dise *d);

/* The counters begin anew, as in a new process. */
void dise_begin(struct dise *d);

/* Of the productions that match an instruction (`mask`): those that act, with the flags as they
 * are. */
uint64_t dise_active(const struct dise *d, uint64_t mask);

/* From now on the parts of costs in the core with all parts are added here, too: COST_CAUSE_COUNT
 * of them; NULL: nowhere. */
void dise_add_to(struct dise *d, uint64_t *parts);

/* Executes an instruction that the productions `mask` match; the actions are those of
 * dise_active. `cost`: what it costs in the core with all parts. */
struct dise_moved dise_step(struct dise *d, uint64_t mask, const struct dise_action *actions,
                            unsigned count, const struct uop_insn *insn,
                            const struct uop_executed *x, struct model_cost *cost);

/* Adds what has been executed until now. */
void dise_sum(const struct dise *d, struct dise_sums *to);

#endif
