/* The optional sections of a profile file that hold sampled values: values, hotlists, texts
 * (docs/format.md).
 *
 * Context: ordinary code.
 * Ownership: the caller's buffers and decoder. */
#ifndef PENUMBRA_PROFILE_SECTIONS_VALUES_H
#define PENUMBRA_PROFILE_SECTIONS_VALUES_H

#include "profile/decode.h"

enum { SECTIONS_VALUES = 3 };

/* Fills out[0 .. SECTIONS_VALUES). The values are settled. */
void sections_values_put(struct section_out *out, const struct profile_values *v);
/* What was not observed; only where there is any. */
void section_unobserved_put(struct section_out *out, const struct profile_values *v);
/* Whether a reader would take them; else *e is set. */
bool sections_values_check(const struct profile *p, struct err *e);
/* Reads them, if they are there; images and processes have been read. */
bool sections_values_get(struct decoder *d);

#endif
