/* Bytes that may or may not be text: names of files and command lines are any bytes but 0.
 *
 * Context: pure functions. Ownership: none. */
#ifndef PENUMBRA_BASE_UTF8_H
#define PENUMBRA_BASE_UTF8_H

#include <stdint.h>

/* The length of the well-formed UTF-8 sequence that begins at s (NUL-terminated): 1 to 4, or 0.
 * *code is set to its code point. */
unsigned utf8_sequence(const unsigned char *s, uint32_t *code);

#endif
