/* Timelines of a hostile spool (sigsafe/timeline.h), into a profile.
 *
 * What is counted goes on meanwhile, in a running program. So timelines are copied before trees are
 * read: a tree that grows may be ahead of its timeline, not behind it.
 *
 * Context: ordinary code.
 * Ownership: a struct spool_timelines owns its copies until _free. */
#ifndef PENUMBRA_PROFILE_SPOOL_TIMELINE_H
#define PENUMBRA_PROFILE_SPOOL_TIMELINE_H

#include "profile/spool_view.h"

/* The records of one thread, by all triggers, which share it. */
struct spool_timeline_copy {
    spool_ref ref;
    uint32_t shift, count;
    uint64_t *slots;
    uint32_t first, last; /* of spool_timelines.owners: [first, last) */
};

struct spool_timeline_owner {
    spool_ref ref;
    uint32_t thread; /* index in the list of records */
    uint32_t which;  /* number of the trigger */
};

/* Of one process. */
struct spool_timelines {
    struct spool_timeline_copy *copies;
    struct spool_timeline_owner *owners; /* by ref */
    /* of each thread record: where its tree's nodes are; NULL: unread */
    spool_ref **nodes;
    uint32_t count, owner_count, thread_count;
};

/* Copies the timelines of these thread records. False without memory. */
bool spool_timelines_copy(struct spool_view *v, const struct record_list *threads,
                          struct spool_timelines *out);
/* Where spool_tree_read is to put the places of the record's nodes; NULL: nobody asks. */
spool_ref **spool_timelines_nodes(struct spool_timelines *t, uint32_t record);
/* Gives each of the threads, which begin at p->threads[first], its part. metric_of: by trigger, of
 * which there are so many. False without memory. */
bool spool_timelines_put(struct spool_view *v, const struct spool_timelines *t, struct profile *p,
                         uint32_t first, const uint32_t *metric_of, uint32_t triggers);
void spool_timelines_free(struct spool_timelines *t);

#endif
