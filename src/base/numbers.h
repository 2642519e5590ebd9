/* Numbers with units, as people type them.
 *
 * Context: any thread. */
#ifndef PENUMBRA_BASE_NUMBERS_H
#define PENUMBRA_BASE_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct number_unit {
    const char *name; /* "" is the unit of a bare number; a list ends with NULL */
    double factor;
};

extern const struct number_unit number_counts[];    /* "", k, M, G */
extern const struct number_unit number_bytes[];     /* "", B, k, M, G: powers of 1024 */
extern const struct number_unit number_durations[]; /* to nanoseconds: "" = s, ms, s, m, h, d */
extern const struct number_unit number_periods[];   /* to nanoseconds: "" = ns, ns, us, ms, s */
extern const struct number_unit number_percent[];   /* "", % */

/* *value = what `text` says, times its unit's factor. Accepts decimal fractions; nothing else may
 * follow. what: for the message ("the rate -F"). The value must be in [low, high]. */
bool number_parse(const char *text, const struct number_unit *units, double low, double high,
                  const char *what, double *value, struct err *e);

#endif
