#include "report/ci.h"

#include <math.h>

/* The 97.5% quantile of the normal distribution. */
static const double z = CI_NORMAL_95;

struct interval ci_wilson(double share, double n)
{
    if (!(n > 0))
        return (struct interval){ 0, 1 };
    double p = share < 0 ? 0 : share > 1 ? 1 : share;
    double scale = 1 + z * z / n;
    double centre = (p + z * z / (2 * n)) / scale;
    double half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / scale;
    double low = p == 0 ? 0 : centre - half;
    double high = p == 1 ? 1 : centre + half;
    return (struct interval){ low < 0 ? 0 : low, high > 1 ? 1 : high };
}
