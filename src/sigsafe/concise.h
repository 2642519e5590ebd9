/* Concise samples of streams of values: the most frequent ones, in constant space (Gibbons and
 * Matias; Burrows et al., Efficient and Flexible Value Sampling, section 2.2). A probability p, at
 * first 1, and a counter C[v] for each of at most N = 16 values:
 *
 *     a value v of the stream is added to C[v] with probability p
 *     while more than N counters are not 0:
 *         p becomes p / f, f = 16/15, and of the C[v] instances of each v each stays with probability 1 / f
 *
 * C[v] / p is an unbiased estimate of how often v was in the stream, whatever the stream.
 *
 * Context: any; integers only. An add is a few stores, and a hotlist that it was killed in is a
 * good one but for that value (hotlist_check).
 * Ownership: plain memory, which may be shared between processes; zeroes are an empty hotlist. */
#ifndef PENUMBRA_SIGSAFE_CONCISE_H
#define PENUMBRA_SIGSAFE_CONCISE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HOTLIST_CONCISE_MAX = 16, /* N */
    HOTLIST_STEPS_MAX = 640,  /* p would be 1e-18: more values than can be */
};

struct hotlist_value {
    uint64_t bits;
    uint32_t space; /* enum hotlist_space (profile/hotlist.h); 0: a number */
};

struct hotlist_entry {
    uint64_t bits;
    uint64_t count;
    uint32_t space;
    uint32_t reserved;
};

struct hotlist {
    uint64_t observed; /* length of the stream */
    uint32_t count;    /* of entries; their counters are not 0 */
    uint32_t steps;    /* concise: p is (15/16)^steps */
    struct hotlist_entry entries[]; /* room for one more than are kept */
};

/* A generator of its own: xoshiro256**, seeded by splitmix64. */
struct hotlist_random {
    uint64_t state[4];
};
void hotlist_random_seed(struct hotlist_random *r, uint64_t seed);
uint64_t hotlist_random_next(struct hotlist_random *r);

/* The entry of a value, or NULL; a new one, for which there must be room. */
struct hotlist_entry *hotlist_find(struct hotlist *h, struct hotlist_value value);
void hotlist_append(struct hotlist *h, struct hotlist_value value, uint64_t count);

/* How many of `count` instances stay, each with probability 15/16. */
uint64_t hotlist_keep_instances(uint64_t count, struct hotlist_random *r);

/* How many of `count` instances stay after so many steps: their share, and what is left over by
 * chance. Each stays with the same probability as by a coin of its own, and the share of a value
 * among those that stay differs less from what it was; but for few instances that is not as if each
 * was drawn. */
uint64_t hotlist_keep_evenly(uint64_t count, uint32_t steps, struct hotlist_random *r);

/* So many steps of p, evenly. */
void hotlist_thin_evenly(struct hotlist *h, uint32_t steps, struct hotlist_random *r);

/* Whether the next value is to be added: true with probability p. */
bool hotlist_is_kept(const struct hotlist *h, struct hotlist_random *r);

/* How many values of the stream are not added before the next one that is. */
uint64_t hotlist_draw_gap(const struct hotlist *h, struct hotlist_random *r);

/* Adds `count` times a value that was drawn to be, not 0. They count as observed already. Where p
 * becomes less, it does evenly, or with a coin for each instance, as section 2.2 has it. */
void hotlist_add_kept(struct hotlist *h, struct hotlist_value value, uint64_t count, bool evenly,
                      struct hotlist_random *r);

#endif
