#include "runtime/path/tree.h"

#include "runtime/thread.h"
#include "sigsafe/cct_grow.h"
#include "sigsafe/key.h"
#include "sigsafe/sample_path.h"
#include "sigsafe/sys.h"

static struct cct_node *node_at(spool_ref ref)
{
    return cct_node_at(&guest.spool, ref);
}

/* What stands for several periods of time was used, or waited for, until then. */
static void time_spread_as(struct rt_thread *t, spool_ref node, uint64_t weight, uint64_t ns)
{
    struct timeline_moment m = {.ns = ns, .weight = weight, .metric = t->which, .node = node};
    struct spool_trigger by = spool_trigger_at(rt.config, t->which);
    if (weight > 1 && (trigger_is_time(by.trigger) || by.trigger == TRIGGER_LOCK_WAIT))
        m.span_ns = weight < UINT64_MAX / by.period ? weight * by.period : UINT64_MAX;
    timeline_add_as(&t->timeline, &guest.spool, &t->record->timeline, &m);
}

/* When it was: at the handler's entry. */
SAMPLE_PATH
static void time_note_as(struct rt_thread *t, spool_ref node, uint64_t weight)
{
    if (!rt.config->timeline)
        return;
    uint64_t ns = timeline_ns(spool_header(&guest.spool), t->clock.last_ticks);
    if (weight != 1 || !timeline_add_one_as(&t->timeline, ns, t->which, node))
        time_spread_as(t, node, weight, ns);
}

static spool_ref child_find_as(struct rt_thread *t, spool_ref parent, uint64_t key)
{
    struct cct_store store = { &guest.spool, t->block, t->block_end, &t->record->nodes, NULL };
    spool_ref child = cct_child_as(&store, parent, key);
    t->block = store.block;
    t->block_end = store.block_end;
    return child;
}

/* Makes memo[i] the child of memo[i - 1] with this key, and the memo's last element. */
SAMPLE_PATH
static bool memo_extend_as(struct rt_thread *t, uint32_t i, uint64_t key)
{
    spool_ref node = child_find_as(t, t->memo[i - 1].node, key);
    t->memo_depth = node ? i + 1 : i;
    if (!node)
        return false;
    t->memo[i].key = key;
    t->memo[i].node = node;
    return true;
}

SAMPLE_PATH
bool tree_add_as(struct rt_thread *t, uint32_t kept, uint32_t count, uint64_t prefix,
                 uint64_t weight)
{
    struct rt_memo *memo = t->memo;
    uint32_t i = kept;
    if (prefix && kept == 1) {
        bool same = t->memo_depth > 1 && memo[1].key == prefix;
        if (!same && !memo_extend_as(t, 1, prefix))
            return false;
        memo[1].cfa = memo[1].ra = 0;
        i = 2;
        t->memo_depth = same ? t->memo_depth : 2;
    }
    if (i + count > t->max_depth) /* the walk stops at max_depth - 2, so this is only for safety */
        count = t->max_depth - i;  /* keep the leaf's end */
    const struct unwind_frame *frame = t->frames + count;
    for (; frame != t->frames; i++) {
        frame--;
        if ((i >= t->memo_depth || memo[i].key != frame->key) && !memo_extend_as(t, i, frame->key))
            return false;
        memo[i].cfa = frame->cfa;
        memo[i].ra = frame->ra;
    }
    tree_count_as(t, i, weight);
    return true;
}

bool tree_begin_as(struct rt_thread *t, uint64_t prefix)
{
    t->memo_depth = 1;
    if (!prefix)
        return true;
    t->memo[1].cfa = t->memo[1].ra = 0;
    return memo_extend_as(t, 1, prefix);
}

bool tree_append_as(struct rt_thread *t, uint32_t i, const struct unwind_frame *frame)
{
    if (!memo_extend_as(t, i, frame->key))
        return false;
    t->memo[i].cfa = frame->cfa;
    t->memo[i].ra = frame->ra;
    return true;
}

bool tree_add_beside_as(struct rt_thread *t, uint32_t count, uint64_t weight)
{
    spool_ref node = child_find_as(t, t->memo[0].node, key_pseudo(KEY_TRUNCATED));
    while (node && count)
        node = child_find_as(t, node, t->frames[--count].key);
    if (!node)
        return false;
    node_at(node)->samples += weight;
    time_note_as(t, node, weight);
    t->counted = node;
    return true;
}

/* Where a sample was in the kernel, below the user's part. Without room: the user's part. */
static spool_ref kernel_below_as(struct rt_thread *t, spool_ref leaf)
{
    spool_ref node = leaf;
    for (uint32_t i = t->kernel.count; node && i > 0; i--) {
        uint64_t address = t->kernel.frames[i - 1];
        node = child_find_as(t, node, key_make(0, i == 1 ? address : address - 1));
    }
    return node ? node : leaf;
}

SAMPLE_PATH
void tree_count_as(struct rt_thread *t, uint32_t path, uint64_t weight)
{
    spool_ref node = t->counted = t->memo[path - 1].node;
    if (t->kernel.count)
        node = kernel_below_as(t, node);
    node_at(node)->samples += weight;
    time_note_as(t, node, weight);
}

SAMPLE_PATH
void tree_add_unattributed_as(struct rt_thread *t, uint64_t weight)
{
    if (!weight)
        return;
    /* Beside the memo, which stays what it is. */
    spool_ref node = child_find_as(t, t->memo[0].node, key_pseudo(KEY_UNATTRIBUTED));
    if (node) {
        node_at(node)->samples += weight;
        t->record->weight += weight;
        time_note_as(t, node, weight);
    } else {
        t->record->drops[DROP_SPOOL_FULL] += weight;
    }
}

void tree_add_unattributed_now_as(struct rt_thread *t, uint64_t weight)
{
    uint64_t last = t->clock.last_ticks;
    if (!weight)
        return;
    t->clock.last_ticks = sys_ticks_as();
    tree_add_unattributed_as(t, weight);
    t->clock.last_ticks = last; /* a handler may have read its ticks before these */
}
