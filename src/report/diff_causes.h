/* Two simulations (docs/simulate.md), or two groups of them: what functions and calling contexts
 * take by cause, before and after.
 *
 * Context: ordinary code.
 * Ownership: rows of causes are their diff_rows'. */
#ifndef PENUMBRA_REPORT_DIFF_CAUSES_H
#define PENUMBRA_REPORT_DIFF_CAUSES_H

#include <stdio.h>

#include "profile/simulate.h"
#include "report/diff.h"
#include "report/json.h"

/* Of a row: cycles, instructions and cycles by cause, as enum simulated_metric numbers them; means
 * of a side's runs. DIFF_TOTAL: of contexts only. */
struct diff_causes {
    double of[DIFF_WEIGHTS][DIFF_SIDES][SIMULATED_METRICS];
};

/* Which machine a run was of; NULL: of none. */
const char *diff_causes_machine(const struct diff_run *run);
/* Whether all runs are simulations, compared by cycles. */
bool diff_has_causes(const struct diff_run *runs, uint32_t count);

/* Adds what a view's function has itself, or a node with all below it; `parts` of it: 1 over the
 * side's runs, or less than 0 to take away. */
void diff_causes_add(struct diff_causes *to, enum diff_weight weight, unsigned side,
                     const uint64_t *weights, double parts);

/* Percent of the mean total before that a cycle of a side is. */
double diff_causes_percent(const struct diff *d, unsigned side);
/* The difference by a metric (enum simulated_metric), in this percent. */
double diff_causes_difference(const struct diff *d, const struct diff_causes *c,
                              enum diff_weight weight, unsigned metric);
/* What is shown as 0.00%. */
#define DIFF_CAUSES_NOTHING 0.005

/* The machines, and cycles an instruction by cause: of the root of all. */
void diff_causes_write_all(FILE *out, const struct diff *d, const struct report_style *style);
/* "memory +3.10%, L2 -0.20%": what differs most, in percent of the mean total before; nothing where
 * that is 0.00%. */
void diff_causes_write(FILE *out, const struct diff *d, const struct diff_causes *c,
                       enum diff_weight weight);
/* The member "simulated": before and after, each an object of instructions, cycles, the stack. */
void diff_causes_json(struct json *j, const struct diff_causes *c, enum diff_weight weight);

#endif
