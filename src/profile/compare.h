/* How near a sampled profile comes to a perfect one: the metrics of the field (docs/compare.md).
 *
 * A profile is a list of entries (functions, calling contexts, blocks, edges) with weights. p and q
 * below are an entry's shares of the total weight of the perfect and of the sampled profile.
 *
 * Context: ordinary code.
 * Ownership: arguments are only read; what is allocated is freed before the return. */
#ifndef PENUMBRA_PROFILE_COMPARE_H
#define PENUMBRA_PROFILE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct compare_entry {
    double perfect, sampled; /* weights, not negative; 0: not in that profile */
};

/* Shares, 0 to 1, but for distortion, which is at most 2. */
struct compare_metrics {
    double overlap;      /* sum of min(p, q) (Arnold and Ryder, section 4.4) */
    double overlap_90;   /* the same over the fewest entries that make 90% of the perfect profile,
                            relative to what they make there (Mousa and Krintz, section 5) */
    /* of the weight of the perfect profile's top 5% of entries, what is among as many top entries
     * of the sampled one (Moseley et al., equation 1) */
    double weight_match;
    double distortion;   /* sum of |p - q| (Froyd, Mellor-Crummey and Fowler, section 4.2) */
    size_t entries_perfect, entries_sampled, entries_common; /* with a weight */
};

/* Of `count` entries. ERR_USAGE if either profile has no weight at all, ERR_INTERNAL without
 * memory. */
bool compare_entries(const struct compare_entry *entries, size_t count, struct compare_metrics *out,
                     struct err *e);

/* What the overlap would be on average if the sampled profile had been as many independent draws
 * from the perfect one as its weights sum up to: how much of what is missing to 1 is chance. Both
 * profiles have weight. */
double compare_expected_overlap(const struct compare_entry *entries, size_t count);

/* An instruction whose values were profiled. Invariance: how often the most frequent value was
 * seen, divided by how often the instruction was executed. */
struct compare_value {
    double executions; /* in the perfect profile; 0: not in both profiles */
    double invariance_perfect, invariance_sampled;
};

/* diff-top (Moseley et al., section 4.3): the mean of |difference of invariance|, weighted by
 * executions, over the instructions in both profiles. Negative: there are none. */
double compare_values(const struct compare_value *values, size_t count);

#endif
