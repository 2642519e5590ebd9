/* Code memory. Hot code grows up, cold code (exit stubs, literals) grows down from the end of the
 * same segment, so that what runs stays dense and all of it is in reach of a rel32.
 *
 *      |glue| hot ->            <- cold |  hot ->           <- cold |
 *      0            segment 0          1 MB        segment 1       2 MB
 *
 * A translation reserves the most that it can need, writes, and commits what it wrote; or aborts,
 * and nothing has happened.
 *
 * Context: the dispatcher, under the engine's lock.
 * Ownership: code is never freed before the cache. */
#ifndef PENUMBRA_ENGINE_CACHE_H
#define PENUMBRA_ENGINE_CACHE_H

#include "engine/address.h"
#include "engine/area.h"
#include "sigsafe/prefetch.h"

enum { CACHE_SEGMENT = 2 << 20 };

struct cache {
    struct area area;
    uint32_t hot;        /* next free byte, growing up */
    uint32_t cold;       /* last used byte, growing down */
    uint32_t hot_ready, cold_ready; /* populated: up to, down to */
    bool shared;         /* between processes; and the kernel gives huge pages for it */
};

/* how: AREA_SHARED, or AREA_PLAIN. */
bool cache_map_as(struct cache *c, uint64_t size, unsigned how);
void cache_unmap_as(struct cache *c);

/* Room for `bytes` of hot and cold code together, in one segment; false when the cache is full. */
bool cache_reserve_as(struct cache *c, uint32_t bytes);

/* Code will be written soon. */
static inline void cache_prefetch(const struct cache *c)
{
    enum { LINE = 64, BYTES = 4 * LINE };
    for (uint32_t i = 0; i < BYTES; i += LINE) {
        prefetch_write(c->area.base + c->hot + i);
        prefetch_write(c->area.base + c->cold - i);
    }
}

/* `bytes` of cold code, within what was reserved; aligned to `align`, a power of two. */
static inline uint32_t cache_cold_as(struct cache *c, uint32_t bytes, uint32_t align)
{
    return c->cold = (c->cold - bytes) & ~(align - 1);
}

static inline uint8_t *cache_at(const struct cache *c, uint32_t offset)
{
    return c->area.base + offset;
}

static inline uint32_t cache_offset(const struct cache *c, const uint8_t *place)
{
    return (uint32_t)(place - c->area.base);
}

#endif
