/* The optional section of a profile file that holds interprocedural acyclic paths (docs/format.md).
 *
 * Context: ordinary code.
 * Ownership: the caller's buffers and decoder. */
#ifndef PENUMBRA_PROFILE_SECTIONS_PATHS_H
#define PENUMBRA_PROFILE_SECTIONS_PATHS_H

#include "profile/decode.h"

/* Fills *out. The paths are settled. */
void section_paths_put(struct section_out *out, const struct profile_paths *p);
/* Whether all blocks exist and paths are in order. */
bool section_paths_good(const struct profile_counts *c);
/* Reads it, if it is there; the blocks have been read. */
bool section_paths_get(struct decoder *d);

#endif
