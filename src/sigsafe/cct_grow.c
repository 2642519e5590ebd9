#include "sigsafe/cct_grow.h"

#include <stddef.h>

#include "sigsafe/sample_path.h"

enum { FIRST_BLOCK = 4096, SECOND_BLOCK = 16384, LARGE_BLOCK = 65536 };

/* Small programs and short-lived threads take one page; busy ones save allocations. */
static bool block_refill_as(struct cct_store *store)
{
    uint64_t size = *store->nodes < FIRST_BLOCK / sizeof(struct cct_node)      ? FIRST_BLOCK
                    : *store->nodes < LARGE_BLOCK / sizeof(struct cct_node) ? SECOND_BLOCK
                                                                                  : LARGE_BLOCK;
    uint8_t *block = spool_alloc_as(store->spool, size);
    if (!block)
        return false;
    store->block = block;
    store->block_end = block + size;
    return true;
}

static struct cct_node *node_make_as(struct cct_store *store, uint64_t key)
{
    if (store->block == store->block_end && !block_refill_as(store))
        return NULL;
    struct cct_node *node = (struct cct_node *)(void *)store->block;
    store->block += sizeof *node;
    (*store->nodes)++;
    node->key = key;
    return node;
}

SAMPLE_PATH
spool_ref cct_child_as(struct cct_store *store, spool_ref parent, uint64_t key)
{
    spool_ref *link = &cct_node_at(store->spool, parent)->child;
    uint64_t hash = cct_hash(key);
    while (*link) {
        struct cct_node *node = cct_node_at(store->spool, *link);
        if (node->key == key)
            return *link;
        link = hash & 1 ? &node->right : &node->left;
        hash = hash >> 1 | hash << 63;
    }
    struct cct_node *made = node_make_as(store, key);
    if (!made)
        return 0;
    spool_ref ref = spool_ref_of(store->spool, made);
    /* Publishes the complete node: pairs with the readers' acquire loads. */
    __atomic_store_n(link, ref, __ATOMIC_RELEASE);
    return ref;
}
