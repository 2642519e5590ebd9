/* Stacks that are too deep for one sample: several share the walk.
 *
 *      root ── ... ── caller of the anchor │ anchor │ ... ── leaf
 *      <── the survey, from here outwards ─┘   └ its return address is the trampoline's
 *
 * A sample walks DEEP_FRAMES at most. Where that does not reach the root, the trampoline is set
 * near the place where the walk has stopped, and the sample is counted as truncated. As long as the
 * trampoline stands, nothing above it changes. So each sample that comes takes the next DEEP_FRAMES
 * outwards into a list, and once the root is there, as many of them into the tree. Then the memo
 * has the whole path, and the trampoline is an ordinary one.
 *
 * A survey lasts as long as `set` and `at == 0` of the thread's trampoline. Without trampolines
 * walks are not cut.
 *
 * Context: the owning thread's signal handler.
 * Ownership: the list is the thread's, and stays mapped. */
#ifndef PENUMBRA_RUNTIME_PATH_DEEP_H
#define PENUMBRA_RUNTIME_PATH_DEEP_H

#include "runtime/runtime.h"
#include "unwind/unwind.h"

/* A stack that several samples share the walk of. */
struct rt_deep {
    struct unwind_frame *frames; /* leaf first, from the anchor's caller on; NULL: never needed */
    /* frames; of them, from the outermost on, those that the memo has */
    uint32_t count, built;
    struct unwind_point at;      /* where the walk goes on */
    bool complete;               /* nothing follows */
    enum truncation truncation;  /* how it ends */
};

enum { DEEP_FRAMES = 4096 };

/* A survey is going on. */
bool deep_surveys_as(const struct rt_thread *t);
/* Frames that a sample of this thread may walk. */
uint32_t deep_limit_as(const struct rt_thread *t);
/* A walk was cut. True: a survey has begun. */
bool deep_begin_as(struct rt_thread *t, const struct unwind_result *walk);
/* A walk has stopped at the anchor: the survey goes on. True: it is over, and memo[1 .. *kept) is
 * the path above the anchor; walk->truncation says how that ends. */
bool deep_goes_on_as(struct rt_thread *t, struct unwind_result *walk, uint32_t *kept);

#endif
