/* What chance alone makes of two samplings: intervals of a difference, and p-values.
 *
 * One recording a side: its samples are draws of which a share hit. The interval of the difference
 * adds the two Wilson intervals in squares (Newcombe, Interval Estimation for the Difference
 * between Independent Proportions, Statistics in Medicine 17, 1998, method 10). The p-value is that
 * of the score test; of less than CHANCE_RARE hits that of the exact test of two Poisson counts
 * given their sum, mid-P (Lancaster, Significance Tests in Discrete Distributions, JASA 56,
 * 1961).
 *
 * Several recordings: Welch's test of the runs' values (Welch, The Generalization of `Student's'
 * Problem, Biometrika 34, 1947).
 *
 * Many comparisons: Benjamini and Hochberg, Controlling the False Discovery Rate, JRSS B 57, 1995.
 *
 * Context: pure functions. */
#ifndef PENUMBRA_REPORT_CHANCE_H
#define PENUMBRA_REPORT_CHANCE_H

#include <stdbool.h>
#include <stddef.h>

enum { CHANCE_RARE = 10, CHANCE_SPREAD_LEAST = 10 };

/* One side of a comparison: a share of n effective samples (INFINITY: no error), and what the share
 * is multiplied by to be comparable. */
struct chance_side {
    double share, n, scale;
    double scale_error; /* variance of the scale by its square: 0 if it is known */
};

struct chance_verdict {
    double low, high; /* 95% interval of the second value minus the first */
    double p;         /* of a difference as large as this one if there is none, two-sided */
};

struct chance_verdict chance_of_sampling(struct chance_side a, struct chance_side b);
/* Of the values of single runs, 2 or more in one of the sides. A side with one run is taken to
 * spread as the other does. */
struct chance_verdict chance_of_runs(const double *a, size_t a_count, const double *b,
                                     size_t b_count);
/* q[i]: the least false discovery rate at which p[i] is significant. p of NAN are no comparisons,
 * and have a q of NAN. False without memory. */
bool chance_adjust(const double *p, double *q, size_t count);

/* The variance of what p are of, in units of that which they were computed with: 1 if p of nothing
 * but chance are uniform (Devlin and Roeder, Genomic Control for Association Studies, Biometrics
 * 55, 1999). The median of them is what counts, so less than half of them may be of changes.
 * 1, too, if they spread less, or are less than CHANCE_SPREAD_LEAST. p is sorted, without its
 * NAN. */
double chance_dispersion(double *p, size_t count);

/* P(|T| >= |t|) of Student's distribution; infinite freedom: of the normal one. */
double chance_student(double t, double freedom);
/* The t of which that is 5%. */
double chance_student_95(double freedom);

#endif
