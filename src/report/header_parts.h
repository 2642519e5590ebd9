/* Parts of a report's header, which has two forms: all that is known of a recording (header.c), or
 * two lines and what is wrong with it (header_brief.c).
 *
 * Context: ordinary code.
 * Ownership: nothing is kept. */
#ifndef PENUMBRA_REPORT_HEADER_PARTS_H
#define PENUMBRA_REPORT_HEADER_PARTS_H

#include "report/report.h"

/* "name      ", the first column of each line. */
void header_field(FILE *out, const struct report_style *style, const char *name);

/* What the period is counted in. */
bool header_in_time(const struct profile *p);
bool header_in_bytes(const struct profile *p);
/* Of several triggers, a line for each that the view is not of. */
void header_others(FILE *out, const struct profile *p, const struct report_style *style);
/* The whole run was observed: nothing was sampled, so nothing was missed. */

/* Of all samples that were due. */
double header_dropped_percent(const struct profile *p, const struct profile_totals *t);

void header_coverage(FILE *out, const struct profile *p, const struct profile_totals *t,
                     const struct report_style *style);
void header_dropped(FILE *out, const struct profile *p, const struct profile_totals *t,
                    const struct report_style *style);
void header_truncated(FILE *out, const struct profile_totals *t, const struct report_style *style);
void header_sandboxes(FILE *out, const struct profile *p, const struct report_style *style);
void header_pauses(FILE *out, const struct profile *p, const struct profile_totals *t,
                   const struct report_style *style);
void header_heap_missed(FILE *out, const struct profile *p);
/* Notes and warnings, each once; out NULL: how many there are. */
uint32_t header_notes(FILE *out, const struct view *v, const struct report_style *style);

/* The second form. */
void header_brief(FILE *out, const struct view *v, const struct report_style *style);

#endif
