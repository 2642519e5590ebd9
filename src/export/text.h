/* Names from programs and file systems, made fit for formats that are strict about text.
 *
 * Context: pure functions.
 * Ownership: the caller's; strings are changed in place. */
#ifndef PENUMBRA_EXPORT_TEXT_H
#define PENUMBRA_EXPORT_TEXT_H

#include "base/buf.h"

/* Replaces every byte that is not part of well-formed UTF-8 (RFC 3629: no overlong forms, no
 * surrogates, nothing above U+10FFFF) by '?'. */
void text_clean_utf8(char *string);
/* The same for a text without zero bytes that is in a buffer. */
void text_clean_buffer(struct buf *text);

#endif
