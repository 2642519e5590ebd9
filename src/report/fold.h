/* Trees in which recursion is shown once: a function that calls itself is one node, and so is each
 * function of a cycle of a few that has gone round once.
 *
 * Context: ordinary code; iterative, trees may be a million levels deep.
 * Ownership: the folded tree's nodes are the caller's to free. */
#ifndef PENUMBRA_REPORT_FOLD_H
#define PENUMBRA_REPORT_FOLD_H

#include "report/view.h"

/* Makes `out` of the linked tree `in`. A node counts what of its levels is not below another node;
 * `levels` of a node is how many were put together at most on one path, 1 without recursion. */
bool fold_tree(const struct view *v, const struct view_tree *in, struct view_tree *out,
               struct err *e);

#endif
