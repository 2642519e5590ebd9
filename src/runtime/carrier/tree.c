#include "runtime/carrier/tree.h"

enum { FIRST_BLOCK = 4096, SECOND_BLOCK = 16384, LARGE_BLOCK = 65536 };

static struct cct_node *node_at(spool_ref ref)
{
    return (struct cct_node *)(void *)(rt.spool.base + (uint64_t)ref * SPOOL_UNIT);
}

/* Small programs and short-lived threads take one page; busy ones save allocations. */
static bool block_refill_as(struct rt_thread *t)
{
    uint64_t size = t->record->nodes < FIRST_BLOCK / sizeof(struct cct_node)      ? FIRST_BLOCK
                    : t->record->nodes < LARGE_BLOCK / sizeof(struct cct_node) ? SECOND_BLOCK
                                                                                  : LARGE_BLOCK;
    uint8_t *block = spool_alloc_as(&rt.spool, size);
    if (!block)
        return false;
    t->block = block;
    t->block_end = block + size;
    return true;
}

static struct cct_node *node_make_as(struct rt_thread *t, uint64_t key)
{
    if (t->block == t->block_end && !block_refill_as(t))
        return NULL;
    struct cct_node *node = (struct cct_node *)(void *)t->block;
    t->block += sizeof *node;
    t->record->nodes++;
    node->key = key;
    return node;
}

/* The child of `parent` with this key, made if it is missing; 0 when the spool is full. */
static spool_ref child_find_as(struct rt_thread *t, spool_ref parent, uint64_t key)
{
    spool_ref *link = &node_at(parent)->child;
    uint64_t hash = cct_hash(key);
    while (*link) {
        struct cct_node *node = node_at(*link);
        if (node->key == key)
            return *link;
        link = hash & 1 ? &node->right : &node->left;
        hash = hash >> 1 | hash << 63;
    }
    struct cct_node *made = node_make_as(t, key);
    if (!made)
        return 0;
    spool_ref ref = spool_ref_of(&rt.spool, made);
    /* Publishes the complete node: pairs with the readers' acquire loads. */
    __atomic_store_n(link, ref, __ATOMIC_RELEASE);
    return ref;
}

/* Makes memo[i] the child of memo[i - 1] with this key, and the memo's last element. */
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
    t->memo_depth = i;
    node_at(memo[i - 1].node)->samples += weight;
    return true;
}

void tree_add_unattributed_as(struct rt_thread *t, uint64_t weight)
{
    if (!weight)
        return;
    /* Beside the memo, which stays what it is. */
    spool_ref node = child_find_as(t, t->memo[0].node, key_pseudo(KEY_UNATTRIBUTED));
    if (node) {
        node_at(node)->samples += weight;
        t->record->weight += weight;
    } else {
        t->record->drops[DROP_SPOOL_FULL] += weight;
    }
}
