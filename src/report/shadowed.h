/* Shadows in reports: how many there were, how they ended, what they observed and cost, which
 * system calls they met (docs/shadow.md).
 *
 * Context: ordinary code. Counts of a hostile file may be anything.
 * Ownership: nothing is kept. */
#ifndef PENUMBRA_REPORT_SHADOWED_H
#define PENUMBRA_REPORT_SHADOWED_H

#include "report/json.h"
#include "report/report.h"

/* Lines of the header. Only if there were shadows to be. */
void shadowed_header(FILE *out, const struct view *v, const struct report_style *style);

/* Of these the lines on how many there were, and why not more. */
void shadowed_ends(FILE *out, const struct view *v, const struct report_style *style);

/* Members "shadows" and "syscalls" of the report's object. */
void shadowed_json(struct json *j, const struct view *v);

#endif
