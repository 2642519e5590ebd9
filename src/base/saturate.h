/* Sums that stay at the greatest value instead of wrapping: counts in a hostile file may be
 * anything.
 *
 * Context: any. */
#ifndef PENUMBRA_BASE_SATURATE_H
#define PENUMBRA_BASE_SATURATE_H

#include <stdint.h>

static inline uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

static inline uint64_t multiply_saturated(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

#endif
