/* Adding one call stack to the thread's calling context tree.
 *
 *   memo:   root  main  f     g     h      the last sample's path, outermost first, with its nodes; behind it may
 *                                          follow what the path before it had more
 *   frames: (leaf first)  k  g'  f  main   the new one
 *           root  main  f   | g'  k        equal up to here: no search in the tree; below it, find
 *                                          or make each node (csprof paper, section 2.2)
 *
 * Context: the owning thread's signal handler.
 * Ownership: nodes come from the spool, in blocks owned by the thread. */
#ifndef PENUMBRA_RUNTIME_PATH_TREE_H
#define PENUMBRA_RUNTIME_PATH_TREE_H

#include "runtime/runtime.h"
#include "unwind/unwind.h"

/* One step of the last sample's path, outermost first. */
struct rt_memo {
    uint64_t key;
    uint64_t cfa, ra; /* as in struct unwind_frame */
    spool_ref node;
    uint32_t reserved;
};

/* Charges `weight` samples to the path memo[1] ... memo[kept - 1], t->frames[count - 1] ...
 * t->frames[0], and makes it the memo. kept: 1, or as many elements of the memo as are known to be
 * the path's (trampoline.h). prefix, if kept is 1: a pseudo key that goes between the root and the
 * path, or 0. False if the spool is full (nothing is charged). */
bool tree_add_as(struct rt_thread *t, uint32_t kept, uint32_t count, uint64_t prefix,
                 uint64_t weight);

/* Piece by piece, uncounted: the memo is the root, and the prefix if it is not 0; then `frame`
 * becomes memo[i], its last element. False if the spool is full. */
bool tree_begin_as(struct rt_thread *t, uint64_t prefix);
bool tree_append_as(struct rt_thread *t, uint32_t i, const struct unwind_frame *frame);

/* Charges `weight` samples to a truncated path of t->frames[count - 1] ... t->frames[0], beside the
 * memo, which stays what it is. */
bool tree_add_beside_as(struct rt_thread *t, uint32_t count, uint64_t weight);

/* The same for a path that the memo has already: memo[1] ... memo[path - 1]. */
void tree_count_as(struct rt_thread *t, uint32_t path, uint64_t weight);

/* Charges `weight` samples to no context: to [unattributed], or to the drops if the spool is
 * full. */
void tree_add_unattributed_as(struct rt_thread *t, uint64_t weight);
/* The same outside a handler: it was until now. */
void tree_add_unattributed_now_as(struct rt_thread *t, uint64_t weight);

#endif
