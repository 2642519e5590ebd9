#include "symbols/ranges.h"

#include <stdlib.h>

#include "base/array.h"

/* Bounds the walk over nested ranges that a hostile file could make quadratic. */
enum { RANGES_WALK_MAX = 4096 };

void ranges_free(struct ranges *r)
{
    free(r->items);
    *r = (struct ranges){ 0 };
}

bool ranges_add(struct ranges *r, uint64_t lo, uint64_t hi, uint32_t id)
{
    if (lo >= hi)
        return true;
    if (!ARRAY_ROOM(r->items, r->count, r->capacity))
        return false;
    r->items[r->count++] = (struct range){ .lo = lo, .hi = hi, .id = id };
    return true;
}

/* By start; longer first, so that the innermost of equal starts comes last. */
static int range_compare(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    if (x->lo != y->lo)
        return x->lo < y->lo ? -1 : 1;
    if (x->hi != y->hi)
        return x->hi > y->hi ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

void ranges_sort(struct ranges *r)
{
    if (r->count)
        qsort(r->items, r->count, sizeof *r->items, range_compare);
    uint64_t reach = 0;
    for (size_t i = 0; i < r->count; i++) {
        if (r->items[i].hi > reach)
            reach = r->items[i].hi;
        r->items[i].reach = reach;
    }
}

uint32_t ranges_find(const struct ranges *r, uint64_t address)
{
    size_t lo = ARRAY_LEADING(r->count, i, r->items[i].lo <= address);
    for (size_t i = lo, steps = 0; i-- > 0 && steps < RANGES_WALK_MAX; steps++) {
        if (r->items[i].reach <= address)
            break;
        if (r->items[i].hi > address)
            return r->items[i].id;
    }
    return RANGES_NONE;
}
