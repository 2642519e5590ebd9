/* What a thread has of a tree that several have in common: where trees were added up while they
 * were read, and threads are told apart nevertheless (PROFILE_SHARED, profile.h).
 *
 *     threads[0].nodes    the sum of all of them
 *     threads[0].shares   what is the thread's own ─┐
 *     threads[1].shares   no nodes, and shares ─────┴─> tree: 0
 *     threads[2].nodes    no shares: all of its nodes are its own
 *
 * Context: ordinary code.
 * Ownership: a thread owns its shares, which are one piece of memory to free(). */
#ifndef PENUMBRA_PROFILE_SHARES_H
#define PENUMBRA_PROFILE_SHARES_H

#include "profile/profile.h"

struct profile_share {
    uint32_t node;   /* index in the nodes of the thread that has the tree */
    uint32_t metric; /* index in profile.metrics */
    uint64_t weight; /* not 0 */
};

struct profile_shares {
    uint32_t tree; /* index of that thread */
    uint32_t count, capacity;
    struct profile_share list[]; /* by node */
};

/* The thread whose nodes are the thread's, itself or another. */
static inline uint32_t profile_tree_of(const struct profile *p, uint32_t thread)
{
    const struct profile_shares *s = p->threads[thread].shares;
    return s ? s->tree : thread;
}

/* Without any; NULL without memory. */
struct profile_shares *profile_shares_new(void);
/* False without memory. */
bool profile_share_add(struct profile_shares **s, const struct profile_share *share);
/* Node i is place[i] from now on; sorts them. */
void profile_shares_place(struct profile_shares *s, const uint32_t *place);
/* Metric i is to[i] from now on, in all threads. */
void profile_shares_renumber(struct profile *p, const uint32_t *to);

#endif
