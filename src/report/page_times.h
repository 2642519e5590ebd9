/* When samples fell, as the page reads it: it shows any part of the time by itself.
 *
 *     "times": {"from_ns", "width_ns", "bin_ns", "columns",
 *               "marks" (report/marks.h),
 *               "threads": [{"thread": i, "moments": [step, span, node, weight, ...]}, ...]}
 *
 * A moment's weight is spread evenly over its column and so many (span) before it. A step leads
 * from the last moment's column to the next one's. node: 0 is weight of nodes that are not told
 * apart; else 1 + a node of the page's tree, or of the nearest above it that is there.
 *
 * Context: ordinary code. Ownership: nothing is kept. */
#ifndef PENUMBRA_REPORT_PAGE_TIMES_H
#define PENUMBRA_REPORT_PAGE_TIMES_H

#include "report/page_tree.h"

/* Member "times", unless times are not known of what the view shows. False without memory. */
bool page_times_write(struct json *j, const struct page_tree *t);

#endif
