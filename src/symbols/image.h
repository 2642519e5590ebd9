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
    const struct profile_names *stored; /* what the profile keeps; NULL: nothing */
    uint32_t index;                     /* of the image there */
};

struct image_answer {
    uint32_t unnamed; /* addresses that a file without symbols left without a name; 0 if only
                         strays */
    enum profile_names_level level; /* what the names are from, at least */
};

/* Fills out[0 .. count). What cannot be resolved is named "[name+0x12ab]"; sentences on why are
 * appended to warnings. False only without memory. */
bool image_resolve(const struct image_request *request, struct symbol_location *out,
                   struct pool *pool, struct buf *warnings, struct image_answer *answer,
                   struct progress *progress);

#endif
