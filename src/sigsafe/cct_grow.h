/* Growing a calling context tree (cct.h): the only place where nodes are made.
 *
 * Context: the thread that owns the tree.
 * Ownership: nodes come from the spool, in blocks that a struct cct_store owns. */
#ifndef PENUMBRA_SIGSAFE_CCT_GROW_H
#define PENUMBRA_SIGSAFE_CCT_GROW_H

#include "sigsafe/spool.h"

/* The blocks of a tree that is made anew, and those that are free since then. */
enum { CCT_BLOCKS = 1 << 17 };
struct cct_blocks {
    struct cct_block {
        spool_ref at;
        uint32_t size; /* bytes */
    } used[CCT_BLOCKS], free[CCT_BLOCKS];
    uint32_t used_count, free_count;
};

struct cct_store {
    const struct spool *spool;
    uint8_t *block, *block_end; /* unused part of the current block of nodes */
    uint64_t *nodes;            /* made so far */
    struct cct_blocks *blocks;  /* NULL: they are not remembered */
};

/* The node at ref, which must be a node's. */
static inline struct cct_node *cct_node_at(const struct spool *s, spool_ref ref)
{
    return (struct cct_node *)(void *)(s->base + (uint64_t)ref * SPOOL_UNIT);
}

/* The child of `parent` with this key, made if it is missing; 0 when the spool is full. */
spool_ref cct_child_as(struct cct_store *store, spool_ref parent, uint64_t key);

/* The root of another tree; 0 when the spool is full. */
spool_ref cct_root_as(struct cct_store *store, uint64_t key);

/* How many blocks are in use; those of [first, last) are free from now on. */
uint32_t cct_blocks_mark(const struct cct_blocks *blocks);
void cct_blocks_free(struct cct_blocks *blocks, uint32_t first, uint32_t last);

#endif
