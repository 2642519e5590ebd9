/* Calls and what one costs, in samples (csprof paper, section 2.4).
 *
 * An edge is counted each time that a procedure returns that has been sampled since it was called.
 * So
 *
 *     cost of an activation = samples that passed through it / edges counted
 *
 * is the mean cost of those activations that samples have met. Where it is many samples, all have
 * been met, and it is the mean cost of a call. Near 1 a call takes less than a period, and the
 * number of calls is not known: only that they are many and cheap.
 *
 * In between some were not met. How many there were in all is between those counted, if all take as
 * long, and what it would be if their lengths were memoryless: then of mean m, in periods U of 1/2
 * to 3/2,
 *
 *     cost = m / P(met),  P(met) = m (1 - E[exp(-U / m)]) = m (1 - m (exp(-1 / 2m) - exp(-3 / 2m)))
 *
 * which is solved for m at the lower end of the cost's interval. Where samples stand for several
 * periods, what one stands for is the period here.
 *
 * Of the tool "calls" all of this is exact, in calls: an activation costs itself and those below
 * it.
 *
 * Context: ordinary code. Ownership: none. */
#ifndef PENUMBRA_REPORT_CALLS_H
#define PENUMBRA_REPORT_CALLS_H

#include "report/report.h"

/* Below this many times what a sample stands for an activation is about as short as that: others
 * were not met at all. */
#define CALLS_CHEAP 2.0

struct calls_cost {
    bool known;               /* some edge was counted, and all samples are shown */
    double samples;           /* mean, per activation */
    double low, high;         /* its 95% interval: of the chance of sampling */
    /* how many calls there were, seen to return or not; 0: that cannot be told */
    double all_low, all_high;
};

struct calls_cost calls_cost(const struct view *v, uint64_t total, uint64_t calls);

/* The periods that a sample stands for, 1 or more: their mean by weight, so that of a recording of
 * which half was sampled seldom it is nearer to the greater. */
double calls_sample_weight(const struct view *v);

/* Whether any edge was counted at all. */
bool calls_known(const struct view *v);

/* "1.2 ms", "3.4 samples" or "3,400 calls": what one activation costs; "< 1 ms" (what a sample
 * stands for) of many cheap ones. Returns out (TEXT_NUMBER_SIZE bytes). */
const char *calls_cost_text(char *out, const struct view *v, double samples);

/* " (2 calls, each 1.2 ms)" of a node: those seen to return, and how many there may have been. */
void calls_write(FILE *out, const struct view *v, const struct view_node *n);

/* Two tables: functions of few expensive calls, and of many cheap ones. Of exact calls one: by
 * calls made in each. */
bool report_calls(FILE *out, const struct view *v, const struct report_style *style, struct err *e);

#endif
