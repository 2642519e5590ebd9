/* Address streams in reports: which loads and stores access memory most, and how regularly.
 *
 * Context: ordinary code. Counts of a hostile file may be anything.
 * Ownership: nothing is kept. */
#ifndef PENUMBRA_REPORT_STREAMS_H
#define PENUMBRA_REPORT_STREAMS_H

#include "report/json.h"
#include "report/report.h"

/* The loads and stores that were executed most, each with its strides. */
bool report_streams(FILE *out, const struct view *v, const struct report_style *style,
                    struct err *e);

/* limit: only those with most accesses; 0: all. Members "streams_missed" and "streams" of the report's
 * object; nothing where there are none. */
void streams_json(struct json *j, const struct view *v, uint32_t limit);

#endif
