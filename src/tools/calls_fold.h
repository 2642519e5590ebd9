/* A tree of exact calls that has no more room: what is cold in it is folded, so that what is hot
 * finds room whenever it comes (calls.c has the tree).
 *
 *      old tree ──list──> nodes, parents first ──totals──> share of each ──copy──> new tree,
 *                                                                                  the record's
 *      its blocks <── free for the nodes that come <────────────────────────────────────┘
 *
 * Context: called hooks: the thread that owns the tree.
 * Ownership: blocks stay the spool's; the lists of them are the thread's, for good. */
#ifndef PENUMBRA_TOOLS_CALLS_FOLD_H
#define PENUMBRA_TOOLS_CALLS_FOLD_H

#include <stdbool.h>

#include "sigsafe/cct_grow.h"

/* Contexts that something refers to, and where they are in the new tree. */
struct fold_moved {
    struct fold_move {
        spool_ref from, to; /* 0: free */
    } *moves;
    uint32_t size; /* a power of two */
};

/* Room for so many; false without memory. */
bool fold_moved_make_as(struct fold_moved *m, uint32_t count);
void fold_moved_free_as(struct fold_moved *m);
void fold_moved_add(struct fold_moved *m, spool_ref from);
spool_ref fold_moved_to(const struct fold_moved *m, spool_ref from);

/* Makes a tree with about half of `most` nodes of the one at `root`, which stays as it is, and of
 * which the store's blocks are. Contexts with the smallest shares of all calls are folded into
 * their parents, but those that are in `moved`, which then says where they are, stay. The store's
 * nodes are the new ones, and the old ones' blocks are free. Returns the new root; 0: there is no
 * room, and nothing has changed. */
spool_ref fold_cold_as(struct cct_store *store, spool_ref root, uint64_t most,
                       struct fold_moved *moved);

#endif
