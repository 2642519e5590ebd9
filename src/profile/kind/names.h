/* The contents of the section of names alone, as a process hands them to another.
 *
 * Context: ordinary code.
 * Ownership: what is read is the caller's. */
#ifndef PENUMBRA_PROFILE_KIND_NAMES_H
#define PENUMBRA_PROFILE_KIND_NAMES_H

#include "base/buf.h"
#include "profile/names.h"

/* The buffer fails stickily. */
void kind_names_write(struct buf *b, const struct profile_names *n);
/* The names of `images` images from what kind_names_write has written; NULL if it is damaged, or
 * without memory. */
struct profile_names *kind_names_read(const uint8_t *data, size_t size, uint32_t images);

#endif
