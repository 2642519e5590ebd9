/* The optional section of a profile file that holds address streams (docs/format.md).
 *
 * Context: ordinary code.
 * Ownership: the caller's buffers and decoder. */
#ifndef PENUMBRA_PROFILE_SECTIONS_STREAMS_H
#define PENUMBRA_PROFILE_SECTIONS_STREAMS_H

#include "profile/decode.h"

/* Fills *out. The streams are settled. */
void section_streams_put(struct section_out *out, const struct profile_streams *s);
/* Whether images and processes exist and streams are in order. */
bool section_streams_good(const struct profile *p, const struct profile_streams *s);
/* Reads it, if it is there; images and processes have been read. */
bool section_streams_get(struct decoder *d);

#endif
