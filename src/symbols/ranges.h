/* Address ranges that may overlap and nest, and the innermost one around an address: of those that
 * contain it, the one that starts last (of equal starts, the shortest).
 *
 * Context: ordinary code.
 * Ownership: a zeroed struct is empty; ranges_free releases it. */
#ifndef PENUMBRA_SYMBOLS_RANGES_H
#define PENUMBRA_SYMBOLS_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANGES_NONE UINT32_MAX

struct range {
    uint64_t lo, hi; /* [lo, hi) */
    uint64_t reach;  /* the greatest hi of this and all earlier ranges */
    uint32_t id;
};

struct ranges {
    struct range *items;
    size_t count, capacity;
};

void ranges_free(struct ranges *r);
/* Ignores empty ranges. False without memory. */
bool ranges_add(struct ranges *r, uint64_t lo, uint64_t hi, uint32_t id);
/* Must be called after the last ranges_add and before the first ranges_find. */
void ranges_sort(struct ranges *r);
/* The id of the innermost range around the address, or RANGES_NONE. */
uint32_t ranges_find(const struct ranges *r, uint64_t address);

#endif
