/* The optional sections of a profile file that hold what the engine counted: counts, blocks, edges
 * (docs/format.md).
 *
 * Context: ordinary code.
 * Ownership: the caller's buffers and decoder. */
#ifndef PENUMBRA_PROFILE_SECTIONS_COUNTS_H
#define PENUMBRA_PROFILE_SECTIONS_COUNTS_H

#include "profile/decode.h"

enum { SECTIONS_COUNTS = 4 };

/* Fills out[0 .. SECTIONS_COUNTS). The counts are settled. */
void sections_counts_put(struct section_out *out, const struct profile_counts *c);
/* Whether all images and processes exist, and records are in order; else *e is set. */
bool sections_counts_check(const struct profile *p, struct err *e);
/* Reads them, if they are there; images and processes have been read. */
bool sections_counts_get(struct decoder *d);

#endif
