#include "report/diff_judge.h"

#include <math.h>
#include <stdlib.h>

#include "report/chance.h"

/* The least share of n that hits may be worth, by how unevenly samples weigh: all of the excess may
 * be in them, or in the rest if that is less, but no sample has more than the heaviest one
 * possible. */
static double worth_least(const struct diff_draws *run, double hits)
{
    hits = fmin(hits, fmax(0, run->all - hits));
    double heaviest = (1 + sqrt(1 + 4 * run->excess)) / 2, squares_all = run->all + run->excess;
    double squares = fmin(fmin(hits * heaviest, hits + run->excess), squares_all);
    double share = hits / run->all, rest = 1 - share;
    double evenly = share * rest * squares_all;
    double unevenly = rest * rest * squares + share * share * (squares_all - squares);
    return evenly > 0 && evenly < unevenly ? evenly / unevenly : 1;
}

static double worth_of_all(const struct diff_draws *runs, uint32_t count, const double *hits)
{
    double worth = 1;
    for (uint32_t r = 0; r < count; r++)
        worth = fmin(worth, worth_least(&runs[r], hits[r]));
    return worth;
}

/* A side as one sampling: all its draws, and the mean value. */
static struct chance_side side_of(const struct diff_draws *runs, uint32_t count,
                                  const double *hits, unsigned side, const struct diff_change *c)
{
    double worth = worth_of_all(runs, count, hits);
    double hit = 0, all = 0, scales = 0, error = 0;
    struct chance_side s = {0};
    uint32_t of_side = 0;
    for (uint32_t r = 0; r < count; r++) {
        double n = runs[r].n * worth;
        if (runs[r].side != side)
            continue;
        s.n += n;
        hit += hits[r] / runs[r].all * (isinf(n) ? 1 : n);
        all += isinf(n) ? 1 : n;
        scales += runs[r].scale;
        error += runs[r].scale_error;
        of_side++;
    }
    s.share = all > 0 ? fmin(1, hit / all) : 0;
    s.scale = s.share > 0 ? c->value[side] / s.share : scales / of_side;
    s.scale_error = error / of_side / of_side;
    return s;
}

/* Both must reject: sampling alone, and the spread of the runs. Either test holds its level where
 * its error is what there is, so both together hold it. */
void diff_judge(const struct diff_draws *runs, uint32_t count, const double *hits, double *values,
                struct diff_change *c)
{
    uint32_t of_side[DIFF_SIDES] = {0};
    for (uint32_t r = 0; r < count; r++)
        of_side[runs[r].side]++;
    for (uint32_t r = 0; r < count; r++) {
        unsigned side = runs[r].side;
        values[r] = fmin(1, hits[r] / runs[r].all) * runs[r].scale;
        c->samples[side] += hits[r];
        c->value[side] += values[r] / of_side[side];
    }
    struct chance_side a = side_of(runs, count, hits, DIFF_BEFORE, c);
    struct chance_side b = side_of(runs, count, hits, DIFF_AFTER, c);
    struct chance_verdict sampling = chance_of_sampling(a, b);
    c->low = sampling.low;
    c->high = sampling.high;
    bool few = a.share * a.n + b.share * b.n < DIFF_SAMPLES_LEAST;
    c->p = few || (a.share == 0 && b.share == 0) ? NAN : sampling.p;
    if (count <= DIFF_SIDES || isnan(c->p))
        return;
    uint32_t before = of_side[DIFF_BEFORE];
    struct chance_verdict spread =
        chance_of_runs(values, before, values + before, of_side[DIFF_AFTER]);
    c->low = fmin(c->low, spread.low);
    c->high = fmax(c->high, spread.high);
    c->p = fmax(c->p, spread.p);
}

static struct diff_change *change_at(struct diff_change *first, size_t stride, size_t i)
{
    return (struct diff_change *)((char *)first + i * stride);
}

bool diff_adjust(struct diff_change *first, size_t stride, size_t count)
{
    double *p = calloc(2 * count + 1, sizeof *p), *q = p ? p + count : NULL;
    for (size_t i = 0; p && i < count; i++)
        p[i] = change_at(first, stride, i)->p;
    bool ok = p && chance_adjust(p, q, count);
    for (size_t i = 0; ok && i < count; i++)
        change_at(first, stride, i)->q = q[i];
    free(p);
    return ok;
}
