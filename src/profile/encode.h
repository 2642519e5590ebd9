/* The bytes of a profile file; profile_encode with a choice. Tests use it to make files that a
 * reader without zstd understands.
 *
 * Context: ordinary code.
 * Ownership: the result is to free(). */
#ifndef PENUMBRA_PROFILE_ENCODE_H
#define PENUMBRA_PROFILE_ENCODE_H

#include "profile/profile.h"

/* As profile_encode; without `compress`, sections are stored as they are. */
uint8_t *profile_encode_with(const struct profile *p, bool compress, size_t *size, struct err *e);

#endif
