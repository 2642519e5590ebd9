/* Branch prediction of one core: the direction of conditional branches (bimodal; gshare; a
 * tournament of both; TAGE, after Seznec and Michaud, A case for (partially) tagged geometric
 * history length branch prediction), targets (BTB, by history for indirect branches), returns.
 *
 * History is that of the right path, and up to date at each prediction.
 *
 * Context: one thread.
 * Ownership: made and freed with the core. */
#ifndef PENUMBRA_MODEL_PREDICT_H
#define PENUMBRA_MODEL_PREDICT_H

#include "model/machine.h"
#include "model/memory.h"

enum { TAGE_TABLES = 6, TAGE_FOLDED = 2 * TAGE_TABLES };

struct predictor {
    const struct machine *m;
    uint32_t mask;               /* of the tables below */
    uint8_t *bimodal, *global, *choice; /* counters of two bits */
    struct tage_entry { uint16_t tag; int8_t counter; uint8_t useful; } *tage[TAGE_TABLES];
    /* The history of each table's length, folded to the bits of its index, and behind those to the
     * bits of its tag. leaves: the bit that the oldest branch has moved to; top: the first bit that
     * is not of the value. */
    struct folded { uint32_t value[TAGE_FOLDED], leaves[TAGE_FOLDED], top[TAGE_FOLDED]; } folded;
    uint32_t lengths[TAGE_TABLES];
    uint8_t history[512];        /* the last branches, the newest at history[head] */
    uint32_t head;
    uint64_t recent;             /* the same, as bits */
    uint64_t path;               /* of targets of indirect branches */
    uint32_t chance;             /* of the allocation in tables */
    struct set_table btb, btb_l1;
    uint64_t *targets;           /* by entry of the BTB */
    struct indirect { uint64_t pc, target; } *indirect;
    uint64_t *returns;
    uint32_t depth;              /* of returns, modulo its size */
};

bool predictor_make(struct predictor *p, const struct machine *m);
void predictor_free(struct predictor *p);

enum prediction {
    PREDICTED,    /* rightly, when it was fetched */
    PREDICTED_LATE, /* rightly, by the second level of the BTB */
    REDIRECTED,   /* taken, and its target known only when it was decoded */
    MISPREDICTED,
};

/* The branch at pc went to `next`; `behind` is the instruction after it. What it did is learned. */
enum prediction predictor_judge(struct predictor *p, enum uop_transfer transfer, uint64_t pc,
                                uint64_t behind, uint64_t next);

#endif
