/* Names that are kept in the profile itself, as locations, and locations as names to be kept.
 *
 * Context: ordinary code.
 * Ownership: locations are in the pool. */
#ifndef PENUMBRA_SYMBOLS_STORED_H
#define PENUMBRA_SYMBOLS_STORED_H

#include "profile/names.h"
#include "symbols/pool.h"
#include "symbols/symbols.h"

struct stored_request {
    const struct profile_names *names; /* NULL: none */
    uint32_t image;                    /* its index there */
    const char *image_name;            /* for places that have no function */
    const uint64_t *offsets;
    uint32_t count;
    enum symbols_detail detail;
};

/* Fills the locations of places that are kept, and leaves others as they are. Returns how many are
 * not kept. */
uint32_t stored_fill(const struct stored_request *r, struct symbol_location *out,
                     struct pool *pool);

/* Keeps the locations as the names of an image of which none are kept. False without memory. */
bool stored_keep(struct profile_names *to, uint32_t image, const uint64_t *offsets,
                 const struct symbol_location *locations, uint32_t count);

/* "[name+0x12ab]", where there is no function's name. */
const char *stored_place_name(struct pool *pool, const char *image_name, uint64_t address);

#endif
