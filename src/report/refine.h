/* Which threads and which call paths a view shows.
 *
 * Call path refinement (csprof paper, section 5, after Hall): a list of regular expressions keeps
 * the call paths on which frames match them in this order from the root to the innermost frame,
 * each expression its own frame; of several lists, each keeps of what the others kept.
 *
 * Context: ordinary code. */
#ifndef PENUMBRA_REPORT_REFINE_H
#define PENUMBRA_REPORT_REFINE_H

#include "report/view.h"

/* Fills view.threads_chosen. ERR_USAGE if nothing matches the filters. */
bool refine_threads(struct view *v, const struct view_options *options, struct err *e);

/* Sets view.samples_all, then removes from the tree what options.image and options.through do not
 * keep. */
bool refine_paths(struct view *v, const struct view_options *options, struct err *e);

#endif
