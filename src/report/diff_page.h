/* What the page of two recordings reads of calling contexts, instead of diff_json's objects.
 *
 * Context: ordinary code.
 * Ownership: nothing is kept. */
#ifndef PENUMBRA_REPORT_DIFF_PAGE_H
#define PENUMBRA_REPORT_DIFF_PAGE_H

#include "report/diff.h"
#include "report/json.h"

/* Members "frames" and "contexts". rows: those to write, in order; place: by row, where it is among
 * them. False without memory. */
bool diff_page_contexts(struct json *j, const struct diff *d, const uint32_t *rows, uint32_t count,
                        const int64_t *place);

#endif
