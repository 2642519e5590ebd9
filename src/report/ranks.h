/* How evenly the ranks of a parallel program share its work: for each function and each calling
 * context of a view, the least, the mean and the most of its ranks.
 *
 * The imbalance is most / mean - 1: by how much the slowest rank exceeds the mean, which is what
 * the others wait for where they meet.
 *
 * Context: ordinary code.
 * Ownership: ranks_free releases the result; it borrows nothing. */
#ifndef PENUMBRA_REPORT_RANKS_H
#define PENUMBRA_REPORT_RANKS_H

#include <stdio.h>

#include "report/report.h"
#include "report/view.h"

struct rank_spread {
    uint64_t min, max, sum; /* weighted samples, of the total */
    uint32_t slowest;       /* the rank that has max */
};

struct ranks {
    uint32_t count;                /* ranks */
    struct rank_spread *functions; /* by index in the view */
    struct rank_spread *nodes;     /* by index in the view's tree */
};

/* options: those that v was built with. NULL: out of memory. No rank: a result whose count is 0. */
struct ranks *ranks_compute(const struct view *v, const struct view_options *options,
                            struct err *e);
void ranks_free(struct ranks *r);

double rank_mean(const struct ranks *r, const struct rank_spread *s);
/* 0: even; 1: the slowest has twice the mean. */
double rank_imbalance(const struct ranks *r, const struct rank_spread *s);

/* The contexts as a tree, each with the numbers of its ranks. */
void report_imbalance(FILE *out, const struct view *v, const struct ranks *r,
                      const struct report_style *style);

#endif
