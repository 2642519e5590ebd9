/* Which level of the memory hierarchy a load came from, by how long it took.
 *
 *      measured at first use: loads that were made to come from each level
 *
 *           L1        L2          L3                memory            page fault  samples, in ticks
 *          .:|:.    .:|||:.     .::|:.            .:|||||:..                 .:|:
 *      ───────────┼──────────┼────────────┼────────────────────────┼──────────────>    ticks
 *                from[L2]   from[L3]     from[memory]             from[fault]
 *
 * A boundary is where the fewest of the samples on its two sides are judged wrong. Where more than
 * HIERARCHY_WRONG of them would be, the two levels cannot be told apart with this machine's clock,
 * and a load is said to come from one of both. What is told apart is time: a load that misses the
 * TLB, waits for another processor's cache, or is interrupted, seems to come from farther away.
 *
 * All ticks are of the time stamp counter, less what measuring costs, never below zero.
 *
 * Context: ordinary code. hierarchy_measure takes some tenths of a second.
 * Ownership: values. */
#ifndef PENUMBRA_MODULES_HIERARCHY_H
#define PENUMBRA_MODULES_HIERARCHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum hierarchy_level {
    HIERARCHY_L1, HIERARCHY_L2, HIERARCHY_L3, HIERARCHY_MEMORY, HIERARCHY_FAULT, HIERARCHY_LEVELS
};

enum {
    HIERARCHY_WRONG = 250000, /* millionths */
    HIERARCHY_NAMES = HIERARCHY_LEVELS * (HIERARCHY_LEVELS + 1) / 2,
};

struct hierarchy {
    char machine[96];  /* what it was measured on */
    uint64_t hz;       /* of the time stamp counter */
    uint32_t step;     /* ticks that it advances by at a time */
    uint32_t cost;     /* ticks that measuring nothing takes */
    struct hierarchy_bound {
        uint32_t median; /* of loads from there */
        uint32_t from;   /* loads of so many ticks or more come from here or farther away */
        /* millionths of loads from here and from one level nearer that `from` judges wrong; the
         * nearest: 0 */
        uint32_t wrong;
        bool present;    /* the machine has this level */
        bool apart;      /* it is told apart from the nearer one that is present */
    } levels[HIERARCHY_LEVELS];
};

/* Samples of one level, cost included. */
struct hierarchy_samples {
    uint32_t *ticks; /* will be sorted */
    uint32_t count;  /* 0: there is no such level */
};

/* From samples to boundaries: fills in cost, step and levels. nothing: of measuring nothing. */
void hierarchy_judge(struct hierarchy *h, struct hierarchy_samples nothing,
                     struct hierarchy_samples of[HIERARCHY_LEVELS]);

/* Where loads of so many ticks (cost subtracted) come from: an index into hierarchy_names. */
uint32_t hierarchy_place(const struct hierarchy *h, uint64_t ticks);

/* "L1", "L1/L2", ...: all runs of levels; ends with NULL. Numbers are the same on all machines. */
extern const char *const hierarchy_names[HIERARCHY_NAMES + 1];
extern const char *const hierarchy_level_names[HIERARCHY_LEVELS];
/* The first and last level of a run. */
void hierarchy_run(uint32_t name, uint32_t *first, uint32_t *last);

/* The machine that this runs on; the key of what is remembered. */
void hierarchy_machine(char *out, size_t size);

/* Measures this machine. False without memory. */
bool hierarchy_measure(struct hierarchy *h, struct err *err);

/* What was measured, from the file that remembers it, under XDG_CACHE_HOME (or ~/.cache). False:
 * there is none for this machine, or it is damaged. */
bool hierarchy_load(struct hierarchy *h);
/* Remembers it. */
bool hierarchy_save(const struct hierarchy *h, struct err *err);

#endif
