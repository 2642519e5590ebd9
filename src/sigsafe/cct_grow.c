#include "sigsafe/cct_grow.h"

#include <stddef.h>

#include "sigsafe/sample_path.h"

enum { FIRST_BLOCK = 4096, SECOND_BLOCK = 16384, LARGE_BLOCK = 65536 };

/* One that is free, empty; NULL: there is none. */
static uint8_t *block_again(struct cct_store *store, uint64_t *size)
{
    struct cct_blocks *b = store->blocks;
    if (!b || !b->free_count)
        return NULL;
    struct cct_block again = b->free[--b->free_count];
    uint64_t *words = (uint64_t *)(void *)(store->spool->base + (uint64_t)again.at * SPOOL_UNIT);
    for (uint64_t i = 0; i < again.size / sizeof *words; i++)
        words[i] = 0;
    *size = again.size;
    return (uint8_t *)words;
}

/* One of too many is never used again. */
static void block_note(struct cct_store *store, const uint8_t *block, uint64_t size)
{
    struct cct_blocks *b = store->blocks;
    if (b && b->used_count < CCT_BLOCKS)
        b->used[b->used_count++] =
            (struct cct_block){spool_ref_of(store->spool, block), (uint32_t)size};
}

uint32_t cct_blocks_mark(const struct cct_blocks *b)
{
    return b->used_count;
}

void cct_blocks_free(struct cct_blocks *b, uint32_t first, uint32_t last)
{
    last = last < b->used_count ? last : b->used_count;
    for (uint32_t i = first; i < last && b->free_count < CCT_BLOCKS; i++)
        b->free[b->free_count++] = b->used[i];
    for (uint32_t i = last; i < b->used_count; i++)
        b->used[first + i - last] = b->used[i];
    b->used_count -= last - first;
}

/* Small programs and short-lived threads take one page; busy ones save allocations. */
static bool block_refill_as(struct cct_store *store)
{
    uint64_t size = *store->nodes < FIRST_BLOCK / sizeof(struct cct_node)      ? FIRST_BLOCK
                    : *store->nodes < LARGE_BLOCK / sizeof(struct cct_node) ? SECOND_BLOCK
                                                                                  : LARGE_BLOCK;
    uint8_t *block = block_again(store, &size);
    if (!block)
        block = spool_alloc_as(store->spool, size);
    if (!block)
        return false;
    block_note(store, block, size);
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

spool_ref cct_root_as(struct cct_store *store, uint64_t key)
{
    struct cct_node *made = node_make_as(store, key);
    return made ? spool_ref_of(store->spool, made) : 0;
}
