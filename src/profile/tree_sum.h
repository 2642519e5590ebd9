/* The sum of trees while it grows: a node is found by its parent and its frame.
 *
 * Context: ordinary code.
 * Ownership: zeroed, it is empty; tree_sum_fini releases it. */
#ifndef PENUMBRA_PROFILE_TREE_SUM_H
#define PENUMBRA_PROFILE_TREE_SUM_H

#include "profile/profile.h"

/* A place of the hash table. The hash tells nodes apart that are in no cache. */
struct tree_sum_slot {
    uint32_t node; /* index + 1, or 0 */
    uint32_t hash;
};

/* Nodes are in order of arrival, so a parent is before its children, but a subtree is not
 * contiguous yet. */
struct tree_sum {
    struct profile_node *nodes;
    uint32_t count, capacity;
    struct tree_sum_slot *slots; /* capacity * 2 of them, a power of two; none of adopted nodes */
    uint32_t *latest; /* of each node: the child that was found last; 0: none */
};

/* Where the sum has this frame below the node `parent` (UINT32_MAX: the root), added without weight
 * if it is missing; UINT32_MAX without memory. */
uint32_t tree_sum_node(struct tree_sum *s, uint32_t parent, const struct profile_node *n);
/* index_of[i]: where node i of the tree is in the sum. Frames in no image are equal by address,
 * whatever process they are from. False without memory. */
bool tree_sum_add(struct tree_sum *s, const struct profile_node *nodes, uint32_t count,
                  uint32_t *index_of);
/* The same of the first tree, into a sum that has no nodes yet. The tree has a node or more; they
 * are the sum's from then on. */
void tree_sum_adopt(struct tree_sum *s, struct profile_node *nodes, uint32_t count,
                    uint32_t *index_of);
/* The sum's own nodes, in preorder and the caller's to free; place[i]: where node i of the sum is
 * there. Of a sum that has nodes: afterwards only their number is left of it, s->count. NULL
 * without memory. */
struct profile_node *tree_sum_preorder(struct tree_sum *s, uint32_t *place);
void tree_sum_fini(struct tree_sum *s);

#endif
