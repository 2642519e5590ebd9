/* How sure a sampled share is: the Wilson score interval for a proportion.
 *
 * The samples are treated as draws of which a share p hit. Samples of different weights are worth
 * fewer independent ones than their number: n = (sum of weights)^2 / (sum of squared weights)
 * (Kish's effective sample size).
 *
 * Context: pure functions. */
#ifndef PENUMBRA_REPORT_CI_H
#define PENUMBRA_REPORT_CI_H

/* Between it and its negative are 95% of a normal distribution. */
#define CI_NORMAL_95 1.959963984540054

struct interval {
    double low, high; /* shares, 0 to 1 */
};

/* The 95% interval around a share of n effective samples; [0, 1] if n is not positive. */
struct interval ci_wilson(double share, double n);

#endif
