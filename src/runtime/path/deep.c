#include "runtime/path/deep.h"

#include <sys/mman.h>

#include "runtime/trampoline/trampoline.h"
#include "runtime/path/tree.h"
#include "guest/images.h"
#include "runtime/thread.h"
#include "sigsafe/key.h"
#include "sigsafe/own_memory.h"

/* Between the path above the anchor and the memo's end: what grows below it. */
enum { ROOM = DEEP_FRAMES };

static uint32_t capacity(const struct rt_thread *t)
{
    return t->max_depth > ROOM ? t->max_depth - ROOM : 0;
}

bool deep_surveys_as(const struct rt_thread *t)
{
    return t->trampoline.set && t->trampoline.at == 0;
}

uint32_t deep_limit_as(const struct rt_thread *t)
{
    /* the stack may grow */
    uint32_t most = t->max_depth - 2, limit = deep_surveys_as(t) ? 2 * DEEP_FRAMES : DEEP_FRAMES;
    return trampoline_allowed_as(t) && most > limit ? limit : most;
}

static bool list_have_as(struct rt_thread *t)
{
    struct rt_deep *d = &t->deep;
    uint64_t size = capacity(t) * sizeof *d->frames;
    if (d->frames)
        return true;
    long at = size ? own_map_as(0, size, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1) : -1;
    if (at > 0)
        d->frames = (struct unwind_frame *)at;
    return d->frames != NULL;
}

bool deep_begin_as(struct rt_thread *t, const struct unwind_result *walk)
{
    struct rt_deep *d = &t->deep;
    if (walk->truncation != TRUNC_DEPTH || walk->frames < DEEP_FRAMES || walk->stopped_at ||
        walk->leaving || walk->guessed || !list_have_as(t))
        return false;
    uint32_t anchor = trampoline_anchor_as(t, walk->frames);
    if (!anchor)
        return false;
    d->count = 0;
    for (uint32_t i = anchor + 1; i < walk->frames; i++)
        d->frames[d->count++] = t->frames[i];
    d->built = 0;
    d->at = walk->point;
    d->complete = false;
    return true;
}

/* The next frames outwards. What is met there and cannot be followed ends the path. */
static void survey(struct rt_thread *t)
{
    struct rt_deep *d = &t->deep;
    uint32_t room = capacity(t) - d->count, most = room < DEEP_FRAMES ? room : DEEP_FRAMES;
    struct unwind_result walk =
        unwind_walk_on_as(&t->unwind, images_current_as(), &d->at, d->frames + d->count, most);
    d->count += walk.frames;
    d->at = walk.point;
    d->complete = walk.truncation != TRUNC_DEPTH || walk.stopped_at || walk.frames < most ||
                  d->count == capacity(t);
    d->truncation = walk.stopped_at ? TRUNC_DEPTH : walk.truncation;
}

/* Into the tree and the memo, from the root inwards. False: the spool is full. */
static bool build(struct rt_thread *t)
{
    struct rt_deep *d = &t->deep;
    uint32_t lead = d->truncation == TRUNC_NONE ? 1 : 2;
    if (!d->built && !tree_begin_as(t, lead == 2 ? key_pseudo(KEY_TRUNCATED) : 0))
        return false;
    for (uint32_t n = 0; d->built < d->count && n < DEEP_FRAMES; n++, d->built++)
        if (!tree_append_as(t, lead + d->built, &d->frames[d->count - 1 - d->built]))
            return false;
    return true;
}

bool deep_goes_on_as(struct rt_thread *t, struct unwind_result *walk, uint32_t *kept)
{
    struct rt_deep *d = &t->deep;
    walk->truncation = TRUNC_DEPTH;
    *kept = 0;
    if (!d->complete)
        survey(t);
    else if (!build(t))
        d->built = 0;
    if (!d->complete || d->built < d->count)
        return false;
    walk->truncation = d->truncation;
    *kept = (d->truncation == TRUNC_NONE ? 1 : 2) + d->count;
    t->trampoline.at = *kept;
    t->trampoline.truncation = d->truncation;
    return true;
}
