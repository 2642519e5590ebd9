/* Sampled simulation: cycles an instruction from windows of a run, how sure they are, and what
 * longer warming would change (Wunderlich et al., SMARTS, ISCA 2003, sections 3 and 4).
 *
 *     window n of a thread (sigsafe/settings.h, struct sample_settings):
 *
 *     |...warming...|measured|                     one observation of the CPI
 *     |...warming...|measured|...warming x 3...|measured|
 *                    first                      later: first - later estimates the bias
 *
 * Context: pure functions.
 * Ownership: the caller's structs. */
#ifndef PENUMBRA_MODULES_SAMPLE_H
#define PENUMBRA_MODULES_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/settings.h"

/* Sums over observations. */
struct sample_sum {
    uint64_t count;
    double mean, squares; /* squares: of the distances from the mean (Welford, 1962) */
};
void sample_add(struct sample_sum *s, double value);
/* Half the width of the mean's 95% confidence interval, by Student's distribution; -1: there are
 * fewer than two observations. */
double sample_half_width(const struct sample_sum *s);

/* All windows of a run. */
struct sample {
    struct sample_settings settings;
    uint64_t begun;          /* windows, those that a thread did not come to the end of included */
    uint64_t inside, between; /* instructions executed in windows; between them, if that is told */
    struct sample_sum cpi;   /* of the first measured part of each window */
    struct sample_sum bias;  /* first less later, of each long window */
};

/* Where a thread is. */
struct sample_window {
    uint32_t number;         /* from 1; 0: none */
    uint64_t executed;       /* instructions of it */
    uint64_t cycles;         /* when the measured part began */
    double first;            /* its CPI */
};

void sample_begin(struct sample *s, struct sample_window *w, uint32_t number);
/* All that were executed; where it is not told what is between windows, some. */
uint64_t sample_instructions(const struct sample *s);
/* Is a thread that has executed so many instructions so near its next window that predictors have
 * to see its branches? */
bool sample_is_near(const struct sample_settings *s, uint32_t next, uint64_t executed);
/* Before the window's next instruction is executed, at `cycles` of its core. True: the instruction
 * is in the first measured part. */
bool sample_step(struct sample *s, struct sample_window *w, uint64_t cycles);

#endif
