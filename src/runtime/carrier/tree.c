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

bool tree_add_as(struct rt_thread *t, uint32_t count, uint64_t prefix, uint64_t weight)
{
    uint32_t lead = prefix ? 2 : 1; /* root, prefix */
    uint32_t depth = lead + count;
    if (depth > t->max_depth) {
        /* Keep the leaf's end: the walk stops at max_depth - 2, so this is only for safety. */
        count -= depth - t->max_depth;
        depth = t->max_depth;
    }
    struct rt_memo *memo = t->memo;
    uint32_t i = 1;
    if (prefix && i < t->memo_depth && memo[i].key == prefix)
        i++;
    if (i == lead)
        while (i < depth && i < t->memo_depth &&
               memo[i].key == t->frames[count - 1 - (i - lead)].key)
            i++;
    for (; i < depth; i++) {
        uint64_t key = i < lead ? prefix : t->frames[count - 1 - (i - lead)].key;
        spool_ref node = child_find_as(t, memo[i - 1].node, key);
        if (!node) {
            t->memo_depth = i;
            return false;
        }
        memo[i].key = key;
        memo[i].node = node;
    }
    t->memo_depth = depth;
    node_at(memo[depth - 1].node)->samples += weight;
    return true;
}

void tree_add_unattributed_as(struct rt_thread *t, uint64_t weight)
{
    if (!weight)
        return;
    if (tree_add_as(t, 0, key_pseudo(KEY_UNATTRIBUTED), weight))
        t->record->weight += weight;
    else
        t->record->drops[DROP_SPOOL_FULL] += weight;
}
