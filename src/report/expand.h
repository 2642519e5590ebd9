/* Trees derived from a view's top-down tree. They are expanded level by level and only where a node
 * reaches the threshold: the whole inverted tree of a deep recursion would have quadratic size.
 *
 * In a derived tree, nodes[0] is a root with the function VIEW_NONE.
 *
 * Context: ordinary code.
 * Ownership: the caller frees tree->nodes. */
#ifndef PENUMBRA_REPORT_EXPAND_H
#define PENUMBRA_REPORT_EXPAND_H

#include "report/view.h"

struct expand_limits {
    uint64_t min;   /* nodes with a smaller total are left out */
    uint32_t depth; /* levels below the root */
};

/* Bottom-up: the root's children are the functions by self, each node's children its callers. */
bool expand_bottom_up(const struct view *v, struct expand_limits limits, struct view_tree *out,
                      struct err *e);

/* The callers of the chosen functions (flags by function). A call path counts once, from the
 * innermost of the chosen frames on it upwards; so a recursive function is its own caller. */
bool expand_callers(const struct view *v, const bool *chosen, struct expand_limits limits,
                    struct view_tree *out, struct err *e);

/* What the chosen functions call. A call path counts once, from the outermost of the chosen frames
 * on it downwards. */
bool expand_callees(const struct view *v, const bool *chosen, struct expand_limits limits,
                    struct view_tree *out, struct err *e);

#endif
