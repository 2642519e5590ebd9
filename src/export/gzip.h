/* Compresses what is written piece by piece, so that it is never there as a whole.
 *
 * Context: ordinary code.
 * Ownership: the output is the caller's; gzip_end releases all else, after a failure, too.
 *
 * Failure is sticky: gzip_end says whether all of it was written. */
#ifndef PENUMBRA_EXPORT_GZIP_H
#define PENUMBRA_EXPORT_GZIP_H

#include <zlib.h>

#include "base/buf.h"

struct gzip {
    z_stream z;
    struct buf *out;
    bool failed;
};

void gzip_begin(struct gzip *g, struct buf *out);
void gzip_put(struct gzip *g, const uint8_t *bytes, size_t size);
/* False without memory. */
bool gzip_end(struct gzip *g);

#endif
