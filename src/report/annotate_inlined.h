/* Functions that have no code of their own because all of it is part of others.
 *
 * Context: ordinary code. Safe on any profile and any image file.
 * Ownership: nothing is kept. */
#ifndef PENUMBRA_REPORT_ANNOTATE_INLINED_H
#define PENUMBRA_REPORT_ANNOTATE_INLINED_H

#include "report/view.h"

/* Whether the pattern names functions of the profile that were inlined: then *e says into which,
 * with what was counted of it there, and how these are annotated. */
bool annotate_find_inlined(const struct profile *p, const char *pattern,
                           const struct symbols_options *options, struct err *e);

#endif
