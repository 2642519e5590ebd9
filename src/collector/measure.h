/* Clocks, and the median of some readings of them.
 *
 * Context: any thread of the collector. */
#ifndef PENUMBRA_COLLECTOR_MEASURE_H
#define PENUMBRA_COLLECTOR_MEASURE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec t = {0};
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t monotonic_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

static inline uint64_t monotonic_ms(void)
{
    return monotonic_ns() / 1000000;
}

static inline int measure_compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts them; 0 of none. */
static inline uint64_t measure_median(uint64_t *values, size_t n)
{
    qsort(values, n, sizeof *values, measure_compare);
    return n ? values[n / 2] : 0;
}

#endif
