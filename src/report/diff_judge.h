/* A value of several recordings of two sides: how it changed, and what chance makes of it.
 *
 * Context: pure functions; diff_adjust allocates.
 * Ownership: nothing is kept. */
#ifndef PENUMBRA_REPORT_DIFF_JUDGE_H
#define PENUMBRA_REPORT_DIFF_JUDGE_H

#include "report/diff.h"

/* What a recording has of what is judged. */
struct diff_draws {
    unsigned side;
    double all;   /* weights that could be hits; more than 0 */
    double n;     /* independent draws that these are worth; INFINITY: all was counted */
    double scale; /* what a share of them is multiplied by */
    double scale_error; /* variance of the scale by its square */
    /* Sum of w(w - 1) of samples that weigh w: which of them weigh more than 1 is not known. 0: all
     * weigh the same, or n says all. */
    double excess;
};

/* hits[run] of runs[run].all. The runs before come first; there is one of each side. values: room
 * for a number for each run. *c is zeroed before, and has no q after. */
void diff_judge(const struct diff_draws *runs, uint32_t count, const double *hits, double *values,
                struct diff_change *c);

/* q of `count` changes, which are `stride` bytes apart. False without memory. */
bool diff_adjust(struct diff_change *first, size_t stride, size_t count);

#endif
