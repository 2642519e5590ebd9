/* The optional section of a profile file with the names of its code (docs/format.md).
 *
 * Context: ordinary code.
 * Ownership: what is read goes into the decoder's profile. */
#ifndef PENUMBRA_PROFILE_SECTION_NAMES_H
#define PENUMBRA_PROFILE_SECTION_NAMES_H

#include "profile/decode.h"
#include "profile/names.h"

/* The contents alone; the buffer fails stickily. */
void section_names_write(struct buf *b, const struct profile_names *n);
void section_names_put(struct section_out *out, const struct profile_names *n);
/* Contents of `images` images, from a cursor at their first byte; NULL if they are damaged. */
struct profile_names *section_names_read(struct cursor *c, uint32_t images);
bool section_names_get(struct decoder *d);
/* The names of `images` images from what section_names_write has written; NULL if it is damaged, or
 * without memory. */
struct profile_names *section_names_unpack(const uint8_t *data, size_t size, uint32_t images);

#endif
