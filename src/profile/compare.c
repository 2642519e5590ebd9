#include "profile/compare.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* An entry's position, ordered by one of its weights, greatest first; equal weights keep the order
 * of the entries, so that equal profiles have equal tops. */
struct ranked {
    double weight;
    size_t index;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static struct ranked *rank_entries(const struct compare_entry *entries, size_t count, bool sampled)
{
    struct ranked *order = calloc(count ? count : 1, sizeof *order);
    for (size_t i = 0; order && i < count; i++)
        order[i] = (struct ranked){sampled ? entries[i].sampled : entries[i].perfect, i};
    if (order)
        qsort(order, count, sizeof *order, compare_ranked);
    return order;
}

struct sums {
    double perfect, sampled;
};

static struct sums count_entries(const struct compare_entry *entries, size_t count,
                                 struct compare_metrics *out)
{
    struct sums sum = {0, 0};
    for (size_t i = 0; i < count; i++) {
        const struct compare_entry *at = &entries[i];
        sum.perfect += at->perfect;
        sum.sampled += at->sampled;
        out->entries_perfect += at->perfect > 0;
        out->entries_sampled += at->sampled > 0;
        out->entries_common += at->perfect > 0 && at->sampled > 0;
    }
    return sum;
}

static double overlap_of_top(const struct compare_entry *entries, const struct ranked *order,
                             size_t count, struct sums sum)
{
    const double top_share = 0.9;
    double reached = 0, overlap = 0;
    /* What is missing to 90% may be the rounding of the sum. */
    for (size_t i = 0; i < count && reached < top_share * (1 - 1e-12); i++) {
        const struct compare_entry *at = &entries[order[i].index];
        reached += at->perfect / sum.perfect;
        overlap += smaller(at->perfect / sum.perfect, at->sampled / sum.sampled);
    }
    return smaller(overlap / reached, 1);
}

/* The top of the perfect profile is one entry at least. */
static double weight_match(const struct compare_entry *entries, const struct ranked *perfect,
                           const struct ranked *sampled, size_t count, size_t in_perfect,
                           bool *is_top)
{
    size_t top = (in_perfect + 19) / 20;
    double all = 0, found = 0;
    for (size_t i = 0; i < count; i++)
        is_top[i] = false;
    for (size_t i = 0; i < top && i < count; i++)
        if (sampled[i].weight > 0)
            is_top[sampled[i].index] = true;
    for (size_t i = 0; i < top; i++) {
        double weight = entries[perfect[i].index].perfect;
        all += weight;
        found += is_top[perfect[i].index] ? weight : 0;
    }
    return found / all;
}

bool compare_entries(const struct compare_entry *entries, size_t count, struct compare_metrics *out,
                     struct err *e)
{
    *out = (struct compare_metrics){0};
    struct sums sum = count_entries(entries, count, out);
    if (!(sum.perfect > 0) || !(sum.sampled > 0))
        return err_set(e, ERR_USAGE, "there is nothing to compare: the %s profile has no counts of "
                       "this kind", sum.perfect > 0 ? "sampled" : "perfect");
    struct ranked *perfect = rank_entries(entries, count, false);
    struct ranked *sampled = rank_entries(entries, count, true);
    bool *is_top = calloc(count, sizeof *is_top);
    bool ok = perfect && sampled && is_top;
    for (size_t i = 0; ok && i < count; i++) {
        double p = entries[i].perfect / sum.perfect, q = entries[i].sampled / sum.sampled;
        out->overlap += smaller(p, q);
        out->distortion += __builtin_fabs(p - q);
    }
    if (ok) {
        out->overlap = smaller(out->overlap, 1);
        out->overlap_90 = overlap_of_top(entries, perfect, count, sum);
        out->weight_match =
            weight_match(entries, perfect, sampled, count, out->entries_perfect, is_top);
    }
    free(perfect);
    free(sampled);
    free(is_top);
    return ok || err_set(e, ERR_INTERNAL, "out of memory while profiles were compared");
}

/* Of a count that is binomial (n, p): its mean distance from n p (de Moivre), in units of n:
 * 2 (1 - p) p B(k; n - 1, p) with k the integer part of n p. */
static double mean_distance(double n, double p)
{
    double k = floor(n * p);
    if (p <= 0 || k > n - 1)
        return 0;
    double ways = lgamma(n) - lgamma(k + 1) - lgamma(n - k);
    return 2 * (1 - p) * p * exp(ways + k * log(p) + (n - 1 - k) * log1p(-p));
}

double compare_expected_overlap(const struct compare_entry *entries, size_t count)
{
    struct compare_metrics unused = {0};
    struct sums sum = count_entries(entries, count, &unused);
    double distortion = 0;
    for (size_t i = 0; i < count; i++)
        distortion += mean_distance(sum.sampled, entries[i].perfect / sum.perfect);
    return 1 - distortion / 2;
}

double compare_values(const struct compare_value *values, size_t count)
{
    double weight = 0, difference = 0;
    for (size_t i = 0; i < count; i++) {
        weight += values[i].executions;
        difference += values[i].executions *
                      __builtin_fabs(values[i].invariance_perfect - values[i].invariance_sampled);
    }
    return weight > 0 ? difference / weight : -1;
}
