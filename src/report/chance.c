#include "report/chance.h"

#include <math.h>
#include <stdlib.h>

#include "report/ci.h"

/* ---- distributions ---- */

/* The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
    enum { STEPS = 5000 };
    const double tiny = 1e-300, enough = 1e-14;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double result = d;
    for (int i = 1; i <= 2 * STEPS; i++) {
        const int pair = (i + 1) / 2;
        double m = pair, even = a + 2 * m;
        double term = i % 2 ? m * (b - m) * x / ((even - 1) * even)
                            : -(a + m) * (a + b + m) * x / (even * (even + 1));
        d = 1 + term * d;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = 1 + term / c;
        c = fabs(c) < tiny ? tiny : c;
        result *= c * d;
        if (!(i % 2) && fabs(c * d - 1) < enough)
            break;
    }
    return result;
}

static double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* The regularized incomplete beta function I_x(a, b). */
static double beta_regularized(double a, double b, double x)
{
    if (!(x > 0) || !(x < 1))
        return x > 0;
    double front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) +
                       b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double chance_student(double t, double freedom)
{
    if (!(freedom < 1e6))
        return erfc(fabs(t) / sqrt(2));
    return beta_regularized(freedom / 2, 0.5, freedom / (freedom + t * t));
}

/* The t of which P(|T| >= t) is p; `high`: it is not more. */
static double student_of(double p, double freedom, double high)
{
    double low = 0;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        *(chance_student(middle, freedom) > p ? &low : &high) = middle;
    }
    return high;
}

double chance_student_95(double freedom)
{
    return student_of(0.05, freedom, 1e4);
}

/* Of a p of 0 the greatest that can be told. */
static double normal_of(double p)
{
    return student_of(p, INFINITY, 40);
}

/* P(X >= k) of X binomial (n, p); for real numbers too. */
static double binomial_tail(double k, double n, double p)
{
    return k <= 0 ? 1 : k > n ? 0 : beta_regularized(k, n - k + 1, p);
}

/* ---- one recording a side ---- */

static double square(double x)
{
    return x * x;
}

static double value_of(struct chance_side s)
{
    return s.scale * s.share;
}

/* Values are quotients: what is less is their rounding. */
static bool is_rounding(double difference, double value)
{
    return fabs(difference) <= 1e-12 * fabs(value);
}

static double of_certainty(double a, double b)
{
    return is_rounding(b - a, fmax(fabs(a), fabs(b))) ? 1 : 0;
}

/* Given a's and b's hits together, a's are binomial: each hit is a's with the chance that its share
 * of all samples makes. */
static double rare_p(double a, double b, double chance)
{
    double at_least = binomial_tail(a, a + b, chance), more = binomial_tail(a + 1, a + b, chance);
    double upper = (at_least + more) / 2;
    double p = 2 * fmin(upper, 1 - upper);
    return fmax(0, fmin(1, p));
}

/* If both values are one, it is estimated from both, and the variance by it. */
static double score_p(struct chance_side a, struct chance_side b)
{
    double weight_a = a.n / a.scale, weight_b = b.n / b.scale;
    double value = (a.share * a.n + b.share * b.n) / (weight_a + weight_b);
    double p = fmin(1, value / a.scale), q = fmin(1, value / b.scale);
    double variance = square(a.scale) * p * (1 - p) / a.n + square(b.scale) * q * (1 - q) / b.n +
                      square(value) * (a.scale_error + b.scale_error);
    double difference = value_of(b) - value_of(a);
    return variance > 0 ? chance_student(difference / sqrt(variance), INFINITY)
                        : of_certainty(value_of(a), value_of(b));
}

static double sampling_p(struct chance_side a, struct chance_side b)
{
    double hits_a = a.share * a.n, hits_b = b.share * b.n;
    if (isinf(a.n) || isinf(b.n) || !(a.scale > 0) || !(b.scale > 0))
        return of_certainty(value_of(a), value_of(b));
    double chance = a.n / a.scale / (a.n / a.scale + b.n / b.scale);
    if (fmin(hits_a, hits_b) < CHANCE_RARE)
        return rare_p(hits_a, hits_b, chance);
    /* Of shares of one whole, the rest may be what is rare. */
    bool whole = a.scale == b.scale;
    if (whole && fmin(a.n - hits_a, b.n - hits_b) < CHANCE_RARE)
        return rare_p(a.n - hits_a, b.n - hits_b, chance);
    return score_p(a, b);
}

static struct interval interval_of(struct chance_side s)
{
    struct interval i = isinf(s.n) ? (struct interval){s.share, s.share}
                                   : ci_wilson(s.share, s.n);
    return (struct interval){s.scale * i.low, s.scale * i.high};
}

struct chance_verdict chance_of_sampling(struct chance_side a, struct chance_side b)
{
    struct interval x = interval_of(a), y = interval_of(b);
    double difference = value_of(b) - value_of(a);
    double of_scales = square(CI_NORMAL_95 * value_of(a)) * a.scale_error +
                       square(CI_NORMAL_95 * value_of(b)) * b.scale_error;
    double down = sqrt(square(value_of(b) - y.low) + square(x.high - value_of(a)) + of_scales);
    double up = sqrt(square(y.high - value_of(b)) + square(value_of(a) - x.low) + of_scales);
    return (struct chance_verdict){difference - down, difference + up, sampling_p(a, b)};
}

/* ---- several ---- */

struct spread {
    double mean, variance; /* of one run; 0: not known */
};

static struct spread spread_of(const double *values, size_t count)
{
    struct spread s = {0};
    for (size_t i = 0; i < count; i++)
        s.mean += values[i] / (double)count;
    for (size_t i = 0; count > 1 && i < count; i++)
        s.variance += square(values[i] - s.mean) / (double)(count - 1);
    return s;
}

struct chance_verdict chance_of_runs(const double *a, size_t a_count, const double *b,
                                     size_t b_count)
{
    struct spread x = spread_of(a, a_count), y = spread_of(b, b_count);
    double difference = y.mean - x.mean;
    double u = (a_count > 1 ? x : y).variance / (double)a_count;
    double v = (b_count > 1 ? y : x).variance / (double)b_count;
    double freedom = a_count < 2   ? (double)(b_count - 1)
                     : b_count < 2 ? (double)(a_count - 1)
                                   : square(u + v) / (square(u) / (double)(a_count - 1) +
                                                      square(v) / (double)(b_count - 1));
    if (is_rounding(sqrt(u + v), fmax(fabs(x.mean), fabs(y.mean))))
        return (struct chance_verdict){difference, difference, of_certainty(x.mean, y.mean)};
    double error = sqrt(u + v), half = chance_student_95(freedom) * error;
    return (struct chance_verdict){difference - half, difference + half,
                                   chance_student(difference / error, freedom)};
}

/* ---- many comparisons ---- */

static int compare_numbers(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

double chance_dispersion(double *p, size_t count)
{
    size_t m = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(p[i]))
            p[m++] = p[i];
    if (m < CHANCE_SPREAD_LEAST)
        return 1;
    qsort(p, m, sizeof *p, compare_numbers);
    double median = (p[(m - 1) / 2] + p[m / 2]) / 2;
    double t = normal_of(median) / normal_of(0.5);
    return fmax(1, square(t));
}

struct ordered {
    double p;
    size_t index;
};

static int compare_ordered(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;
    if (x->p != y->p)
        return x->p < y->p ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

bool chance_adjust(const double *p, double *q, size_t count)
{
    struct ordered *order = calloc(count + 1, sizeof *order);
    size_t m = 0;
    if (!order)
        return false;
    for (size_t i = 0; i < count; i++) {
        q[i] = NAN;
        if (!isnan(p[i]))
            order[m++] = (struct ordered){p[i], i};
    }
    if (m)
        qsort(order, m, sizeof *order, compare_ordered);
    double least = 1;
    for (size_t i = m; i-- > 0;) {
        least = fmin(least, order[i].p * (double)m / (double)(i + 1));
        q[order[i].index] = least;
    }
    free(order);
    return true;
}
