/* Orders of what a profile lists: greatest first, equal ones as they stand in the profile.
 *
 * Context: pure functions. */
#ifndef PENUMBRA_REPORT_RANKED_H
#define PENUMBRA_REPORT_RANKED_H

#include <stdint.h>

struct ranked {
    uint64_t value;
    uint32_t index;
};

/* For qsort. */
static inline int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

#endif
