/* The interactive page of `penumbra report --html`: one file that needs nothing else, built from
 * web/.
 *
 * Context: ordinary code.
 * Ownership: nothing is kept. */
#ifndef PENUMBRA_REPORT_HTML_H
#define PENUMBRA_REPORT_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"

/* Writes the page for json, an object or an array of them as docs/json.md has it of pages, to out.
 * title: plain text. Errors: json is not JSON (ERR_INTERNAL: it is our own), out cannot be written
 * (ERR_OUTPUT), or the page was left out of this build (ERR_USAGE). */
bool report_html(const char *json, size_t json_size, const char *title, FILE *out, struct err *e);

#endif
