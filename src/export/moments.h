/* When the samples of a thread were taken, for formats that have a time axis or an order.
 *
 *     bins      |  a3 b1 rest2  |  b4  |             (profile/timeline.h)
 *     moments   | a3 b1 c1 d1   |  b4  | e1          sums by node: exactly the tree's
 *
 * The rest of a bin names no node. It goes to nodes that have weight in no bin, scattered over the
 * bins: how much there was when is right, which of these nodes it was is not known. Weight without
 * a time lies at the thread's end or, without a timeline, is spread over the thread's life in the
 * order of the tree.
 *
 * Context: ordinary code.
 * Ownership: lanes_fini and moments_fini release what is in them; a zeroed struct is empty. */
#ifndef PENUMBRA_EXPORT_MOMENTS_H
#define PENUMBRA_EXPORT_MOMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

/* Threads, each once however many phases it was sampled in. */
struct lanes {
    uint32_t count;
    uint32_t *first; /* by lane: index in profile.threads */
    uint32_t *next;  /* by thread: the next one of its lane; LANE_END */
};
#define LANE_END UINT32_MAX

/* False without memory. */
bool lanes_init(struct lanes *l, const struct profile *p);
void lanes_fini(struct lanes *l);

struct moment {
    uint64_t from_ns, to_ns; /* since the start of the recording; evenly between them */
    uint32_t thread, node;
    uint64_t weight;         /* not 0 */
};

struct moments {
    struct moment *list; /* by from_ns, then thread and node */
    size_t count, capacity;
    uint64_t timed, total; /* weight */
    uint64_t *left;        /* by node, between threads all 0: what no moment has yet */
    uint32_t left_count;
};

/* Replaces what is in *m by the weights of a lane by a metric. False without memory. */
bool moments_of(struct moments *m, const struct profile *p, const struct lanes *l, uint32_t lane,
                uint32_t metric);
void moments_fini(struct moments *m);

static inline uint64_t moment_weight(const struct profile_node *n, uint32_t metric)
{
    return metric ? n->more[metric - 1] : n->self;
}

#endif
