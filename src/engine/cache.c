#include "engine/cache.h"

enum { POPULATE_HOT = 64 << 10, POPULATE_COLD = 32 << 10, MARGIN = 4096 };

bool cache_map_as(struct cache *c, uint64_t size, unsigned how)
{
    *c = (struct cache){ 0 };
    if (!area_map_as(&c->area, size, AREA_CODE | AREA_HUGE | how))
        return false;
    c->cold = CACHE_SEGMENT;
    c->cold_ready = CACHE_SEGMENT;
    c->shared = how & AREA_SHARED;
    return true;
}

void cache_unmap_as(struct cache *c)
{
    area_unmap_as(&c->area);
}

/* What several processes run in turns is to be in huge pages, as what one runs is: a segment
 * becomes one. The first is made where the program waits, so it begins with small ones. */
static bool collapse_as(struct cache *c)
{
    uint32_t begin = (c->cold - 1) & ~(uint32_t)(CACHE_SEGMENT - 1);
    c->shared = area_collapse_as(&c->area, begin, CACHE_SEGMENT);
    if (c->shared)
        c->hot_ready = c->cold_ready;
    return c->shared;
}

static void populate_as(struct cache *c)
{
    bool more = c->hot + MARGIN > c->hot_ready || c->cold < c->cold_ready + MARGIN;
    if (c->shared && more && c->hot_ready && c->hot_ready < c->cold_ready && collapse_as(c))
        return;
    if (c->hot + MARGIN > c->hot_ready && c->hot_ready < c->cold_ready) {
        uint32_t to = c->hot_ready + POPULATE_HOT;
        if (to > c->cold_ready)
            to = c->cold_ready;
        area_populate_as(&c->area, c->hot_ready, to);
        c->hot_ready = to;
    }
    if (c->cold < c->cold_ready + MARGIN && c->cold_ready > c->hot_ready) {
        uint32_t to = c->cold_ready - POPULATE_COLD;
        if (to < c->hot_ready)
            to = c->hot_ready;
        area_populate_as(&c->area, to, c->cold_ready);
        c->cold_ready = to;
    }
}

bool cache_reserve_as(struct cache *c, uint32_t bytes)
{
    if (c->cold - c->hot < bytes) {
        uint32_t next = (c->hot + CACHE_SEGMENT - 1) & ~(uint32_t)(CACHE_SEGMENT - 1);
        if (bytes > CACHE_SEGMENT || (uint64_t)next + CACHE_SEGMENT > c->area.size)
            return false;
        c->hot = c->hot_ready = next;
        c->cold = c->cold_ready = next + CACHE_SEGMENT;
    }
    populate_as(c);
    return true;
}
