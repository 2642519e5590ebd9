/* The time axis of a thread: which of its nodes had weight in which bin of time. docs/timeline.md.
 *
 * Of each node and metric, the moments' weights are at most the node's. What they are less is in
 * the thread's rest, whose moments name no node, or has no time.
 *
 * Context: ordinary code.
 * Ownership: a thread owns its timeline, which is one piece of memory to free(). */
#ifndef PENUMBRA_PROFILE_TIMELINE_H
#define PENUMBRA_PROFILE_TIMELINE_H

#include "base/err.h"
#include "profile/profile.h"

#define PROFILE_REST UINT32_MAX /* profile_moment.node: nodes that are not told apart */
enum { TIMELINE_SHIFT_MAX = 60 };

struct profile_moment {
    uint32_t bin;
    uint32_t span;   /* the weight is spread evenly over so many bins more, before this one */
    uint32_t node;   /* index in the thread's nodes, or PROFILE_REST */
    uint32_t metric; /* index in profile.metrics */
    uint64_t weight; /* not 0 */
};

struct profile_timeline {
    uint64_t start_ns; /* where bin 0 begins, since the start of the recording */
    uint32_t shift;    /* bins are 2^shift nanoseconds wide */
    uint32_t count, capacity;
    struct profile_moment list[]; /* by bin; then by metric, node (the rest last) and span */
};

/* Adds a moment, in any order until it is settled; *t is NULL at first. False without memory. */
bool profile_timeline_add(struct profile_timeline **t, const struct profile_moment *moment);
/* Sorts, and makes one of moments that differ by weight only. */
void profile_timeline_settle(struct profile_timeline *t);

/* Adds the moments of `from` to *to, which has its start and shift: not a later one, and not a
 * narrower one. node_of: what nodes of `from` are there. False without memory. */
bool profile_timeline_join(struct profile_timeline **to, const struct profile_timeline *from,
                           const uint32_t *node_of);

/* Whether its moments are in order, and of nodes and metrics that there are: else *what is what was
 * expected. */
bool profile_timeline_formed(const struct profile *p, const struct profile_timeline *t,
                             uint32_t nodes, const char **what);
/* And whether they have no more weight than the thread's nodes. */
bool profile_timeline_good(const struct profile *p, const struct profile_thread *t,
                           const char **what);

/* From when to when a moment's weight is spread, since the start of the recording. */
struct profile_stretch {
    uint64_t from_ns, to_ns;
};
static inline struct profile_stretch profile_moment_stretch(const struct profile_timeline *t,
                                                            const struct profile_moment *m)
{
    return (struct profile_stretch){t->start_ns + ((uint64_t)(m->bin - m->span) << t->shift),
                                    t->start_ns + (((uint64_t)m->bin + 1) << t->shift)};
}

/* Whether a thread's timeline, or NULL, has a moment of this metric. */
bool profile_timeline_has(const struct profile_timeline *t, uint32_t metric);
/* Whether it is known when samples of this metric were taken, or there were none. Of the metrics of
 * a trigger the first one only can be known: it is not told when memory was live. */
bool profile_timeline_knows(const struct profile *p, uint32_t metric);
/* Metric m of all moments has become number to[m]. */
void profile_timelines_renumber(struct profile *p, const uint32_t *to);

/* The widest bin of all threads, in nanoseconds; 0: no thread has a timeline. */
uint64_t profile_timeline_width(const struct profile *p);

/* Makes it a profile of [from_ns, to_ns) only, which is not empty: weights become those of that
 * time, as far as bins tell. A part of a bin has its share of the bin; the rest is divided as the
 * weight of nodes is that no moment has. Counters without time, such as drops and CPU time, get
 * each thread's share by weight. Metrics whose times are not known are gone. ERR_USAGE: there is no
 * timeline, or not of the first metric. */
bool profile_keep_time(struct profile *p, uint64_t from_ns, uint64_t to_ns, struct err *e);

#endif
