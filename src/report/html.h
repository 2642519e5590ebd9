/* One self-contained HTML page around the JSON of a report.
 *
 * Context: ordinary code.
 * Ownership: borrows everything. */
#ifndef PENUMBRA_REPORT_HTML_H
#define PENUMBRA_REPORT_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"

/* json: exactly what `penumbra report --json` prints. */
bool report_html(const char *json, size_t json_size, const char *title, FILE *out, struct err *e);

#endif
