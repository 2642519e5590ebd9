/* The parts of a comparison that are about sampled values (compare.c).
 *
 * Context: ordinary code.
 * Ownership: arguments are only read. */
#ifndef PENUMBRA_REPORT_COMPARE_VALUES_H
#define PENUMBRA_REPORT_COMPARE_VALUES_H

#include "profile/profile.h"

/* Whether the hotlist is of what an instruction computes, at an address that means the same in
 * another profile. */
bool compare_is_result(const struct profile_values *v, const struct profile_hotlist *h);

/* Executions of the instruction at hotlists[first] that were observed: its most observed kind, all
 * sites together. *next: the first hotlist of another instruction. */
uint64_t compare_observed(const struct profile_values *v, uint32_t first, uint32_t *next);

/* diff-top (profile/compare.h) of what instructions compute, over those in both profiles: [0]
 * perfect, [1] sampled. images[side][i]: a number for image i that is the same in both. Negative:
 * there are none. *chance, unless it is NULL: what diff-top is if each observation of the sampled
 * profile is drawn from the same instruction's hotlist in the perfect one. False without memory. */
bool compare_diff_top(const struct profile_values *const values[2], uint64_t *const images[2],
                      double *out, double *chance);

#endif
