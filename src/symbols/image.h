/* Resolves all addresses of one image: opens its file (and debug file), asks DWARF, symbol tables,
 * the PLT and the unwind table, closes everything again.
 *
 * Context: ordinary code. Safe on any file.
 * Ownership: results are in the pool. */
#ifndef PENUMBRA_SYMBOLS_IMAGE_H
#define PENUMBRA_SYMBOLS_IMAGE_H

#include "base/buf.h"
#include "symbols/pool.h"
#include "symbols/progress.h"
#include "symbols/symbols.h"

struct image_request {
    const struct profile_image *image;
    const char *name;        /* for people */
    const uint64_t *offsets; /* ascending, distinct */
    uint32_t count;
    struct symbols_options options;
};

/* Fills out[0 .. count). What cannot be resolved is named "[name+0x12ab]"; sentences on why are
 * appended to warnings. *unnamed is how many addresses a file without symbols left so, 0 if only
 * strays. False only without memory. */
bool image_resolve(const struct image_request *request, struct symbol_location *out,
                   struct pool *pool, struct buf *warnings, uint32_t *unnamed,
                   struct progress *progress);

#endif
