/* The calling context tree as the page reads it: columns of numbers, in the order of a walk from
 * the root, so that half a million nodes are read at once.
 *
 *     "frames":   [["main", "app"], ...]        name and image
 *     "nodes":    {"frame": [...], "depth": [...], "self": [...],
 *                  "left_out": [step, weight, ...],            own samples of nodes below that are
 *                                                              not written
 *                  "threads":  [step, thread, self, left_out, ...],
 *                  "calls":    [[node, calls, each, low, high, all_low, all_high], ...],
 *                  "simulated": [[...], ...],
 *                  "simulated_left_out": [[step, weight, ...], ...]}
 *
 * A step leads from the node that was named before, at first the root, to the next one. "threads"
 * is missing where one thread has all samples, or it is not known which has them. Calls end with
 * what is known: docs/json.md, cost_per_call. "simulated" is there in simulations: columns of what
 * each node has with all below it, instructions, and cycles by cause, in the order of the report's
 * "simulated"."causes". "simulated_left_out" is of each column what "left_out" is of self.
 *
 * Context: ordinary code.
 * Ownership: page_tree_free releases what page_tree_make has made; the view is borrowed. */
#ifndef PENUMBRA_REPORT_PAGE_TREE_H
#define PENUMBRA_REPORT_PAGE_TREE_H

#include "report/json.h"
#include "report/view.h"

/* Of a node's samples, those of one thread. */
struct page_share {
    uint32_t node, thread; /* node: as written; thread: index in profile.threads */
    uint64_t self;
    uint64_t left_out; /* own samples of nodes below it that are not written */
};

struct page_tree {
    const struct view *view;
    uint32_t *place; /* by node of the view: the node written; or the nearest above it that is */
    uint32_t *written; /* nodes of the view, in order */
    uint32_t count;
    uint64_t *left_out; /* by node written */
    struct page_share *shares; /* by node, then by thread */
    size_t share_count;
};

/* shown: whether a node is written; of a node that is not, nothing below is. False without
 * memory. */
bool page_tree_make(struct page_tree *t, const struct view *v,
                    bool (*shown)(const struct view *v, uint32_t node, const void *arg),
                    const void *arg);
/* Members "frames" and "nodes". */
void page_tree_write(struct json *j, const struct page_tree *t);
void page_tree_free(struct page_tree *t);

#endif
