/* Every field of a profile's file as it is stored, section by section.
 *
 * Context: ordinary code. */
#ifndef PENUMBRA_REPORT_DUMP_H
#define PENUMBRA_REPORT_DUMP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

/* A line for each section, and for each field its place in the section, what it is and its value.
 * Of a damaged file, what comes before the damage. */
bool report_dump(FILE *out, const uint8_t *data, size_t size, const char *name, struct err *e);

#endif
