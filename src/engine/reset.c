#include "engine/reset.h"

#include <linux/futex.h>
#include <stddef.h>
#include <time.h>

#include "engine/link.h"
#include "engine/lookup.h"
#include "engine/pairs.h"
#include "sigsafe/sys.h"

enum {
    REMADE_MOST = 1 << 16, /* blocks made again: some 20 MB with their records */
    LOOK_NS = 1000000, /* others may become quiet unseen */
};

void reset_prepare(struct engine *e)
{
    e->hot_kept = e->cache.hot;
    e->cold_kept = e->cache.cold;
}

void reset_want_as(struct engine *e)
{
    if (e->reset_wanted || !reset_possible(e))
        return;
    for (uint32_t i = 1; i < e->blocks.used; i++)
        if (!(block_at(&e->blocks, i)->flags & BLOCK_DEAD))
            unlink_as(e, block_at(&e->blocks, i));
    lookup_forget_as(e);
    __atomic_store_n(&e->reset_wanted, 1, __ATOMIC_SEQ_CST);
}

void reset_note_remade_as(struct engine *e)
{
    if (++e->remade >= REMADE_MOST)
        reset_want_as(e);
}

void reset_consider_as(struct engine *e)
{
    if (e->cache.hot / 8 >= e->cache.area.size / 9)
        reset_want_as(e);
}

static bool others_quiet(const struct engine *e, const struct engine_thread *t)
{
    for (const struct engine_thread *other = e->threads; other; other = other->link)
        if (other != t && !__atomic_load_n(&other->quiet, __ATOMIC_SEQ_CST))
            return false;
    return true;
}

/* Nobody knows a translation. */
static void reset_as(struct engine *e)
{
    e->cache.hot = e->hot_kept;
    e->cache.cold = e->cold_kept;
    e->cache.hot_ready = e->cache.cold_ready = CACHE_SEGMENT; /* it has all been written */
    __atomic_store_n(&e->blocks.used, 1, __ATOMIC_RELEASE);
    e->blocks.exits_used = e->blocks.spans_used = 1;
    blocks_forget_as(&e->blocks);
    lookup_forget_as(e);
    e->figures.indirect_entries = e->figures.chained = 0;
    e->figures.resets++;
    e->remade = 0;
    for (struct engine_thread *t = e->threads; t; t = t->link) {
        t->paired = false;
        pairs_thread_as(e, t);
    }
}

static void wait_as(struct engine *e)
{
    const struct timespec pause = { 0, LOOK_NS };
    engine_unlock_as(e);
    sys_call6_as(SYS_futex, (long)&e->reset_wanted, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 1,
                 (long)&pause, 0, 0);
    engine_lock_as(e);
}

bool reset_pass_as(struct engine_thread *t)
{
    struct engine *e = t->engine;
    reset_quiet(t, false);
    if (!__atomic_load_n(&e->reset_wanted, __ATOMIC_SEQ_CST))
        return false;
    engine_lock_as(e);
    reset_quiet(t, true);
    while (e->reset_wanted && !others_quiet(e, t))
        wait_as(e);
    if (e->reset_wanted) {
        reset_as(e);
        __atomic_store_n(&e->reset_wanted, 0, __ATOMIC_SEQ_CST);
        sys_call6_as(SYS_futex, (long)&e->reset_wanted, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT32_MAX,
                     0, 0, 0);
    }
    reset_quiet(t, false);
    engine_unlock_as(e);
    return true;
}
