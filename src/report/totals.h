/* Totals of nodes and functions of a view, and the order of children.
 *
 * Context: ordinary code. */
#ifndef PENUMBRA_REPORT_TOTALS_H
#define PENUMBRA_REPORT_TOTALS_H

#include "report/view.h"

/* From the nodes' self: sets every node's total, links the children and sets every function's self
 * and total, and view.samples. */
bool totals_compute(struct view *v, struct err *e);

/* Sets every node's total from the nodes' self. */
void totals_of_nodes(struct view_tree *t);

struct image_total {
    uint32_t image; /* as in profile_node.image */
    const char *name;
    uint64_t self, total;
};
/* Self and total (once a path) of every image that has either, of generated code and of the
 * entities of each kind, by self: to free(). */
struct image_total *totals_of_images(const struct view *v, uint32_t *count, struct err *e);

#endif
