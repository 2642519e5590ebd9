/* How long things take, as a distribution: counts by bucket, four buckets for each power of two of
 * nanoseconds.
 *
 *      bucket  4k + i  holds  [2^k * (4 + i) / 4, 2^k * (5 + i) / 4) ns          k >= 2, i < 4
 *      bucket  0       holds  less than 4 ns
 *
 * Context: any; fields are added to atomically.
 * Ownership: records belong to what holds them. */
#ifndef PENUMBRA_SIGSAFE_LATENCY_H
#define PENUMBRA_SIGSAFE_LATENCY_H

#include <stdint.h>

enum { LATENCY_BUCKETS = 160 };

struct latency {
    uint64_t sum_ns;
    uint64_t counts[LATENCY_BUCKETS];
};

/* X(enumerator, name in files and --json, what is measured) */
#define LATENCY_KINDS(X)                                                                           \
    X(LATENCY_TRANSLATION, "translation", "making one block")                                      \
    X(LATENCY_DISPATCH, "dispatch", "finding or making what is executed next")                     \
    X(LATENCY_BURST_WARM, "burst-warm", "a burst, nothing to be made for it")                      \
    X(LATENCY_BURST_COLD, "burst-cold", "a burst that ran new code")

#define LATENCY_ENUMERATOR(id, name, what) id,
enum latency_kind { LATENCY_KINDS(LATENCY_ENUMERATOR) LATENCY_KIND_COUNT };
#undef LATENCY_ENUMERATOR

static inline uint32_t latency_bucket(uint64_t ns)
{
    if (ns < 4)
        return 0;
    uint32_t log = 63 - (uint32_t)__builtin_clzll(ns);
    uint32_t bucket = log * 4 + (uint32_t)(ns >> (log - 2) & 3);
    return bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1;
}

/* Where a bucket begins. */
static inline uint64_t latency_bucket_low(uint32_t bucket)
{
    uint32_t log = bucket / 4;
    return log < 2 ? 0 : (UINT64_C(4) + bucket % 4) << (log - 2);
}

/* About how long what is in a bucket took. */
static inline uint64_t latency_bucket_ns(uint32_t bucket)
{
    uint32_t log = bucket / 4;
    return log < 2 ? 0 : latency_bucket_low(bucket) + (UINT64_C(1) << log) / 8;
}

static inline void latency_add_as(struct latency *l, uint64_t ns)
{
    __atomic_fetch_add(&l->sum_ns, ns, __ATOMIC_RELAXED);
    __atomic_fetch_add(&l->counts[latency_bucket(ns)], 1, __ATOMIC_RELAXED);
}

#endif
