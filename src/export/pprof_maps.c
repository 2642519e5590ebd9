#include "export/pprof_maps.h"

#include <stdlib.h>

#define PAGE UINT64_C(4096)
#define FIRST_MADE_UP UINT64_C(0x10000000)
#define GAP UINT64_C(0x100000)

struct extent {
    uint64_t first, last; /* link-time addresses, last exclusive */
};

struct range {
    uint64_t start, limit;
};

/* What the images' headers say and what the nodes' addresses need, whichever is more. */
static struct extent *extents_build(const struct profile *p)
{
    struct extent *extents = calloc(p->image_count + 1u, sizeof *extents);
    if (!extents)
        return NULL;
    for (uint32_t i = 0; i < p->image_count; i++)
        extents[i] = (struct extent){p->images[i].first_vaddr, p->images[i].last_vaddr};
    for (uint32_t t = 0; t < p->thread_count; t++) {
        const struct profile_thread *thread = &p->threads[t];
        for (uint32_t i = 0; i < thread->node_count; i++) {
            const struct profile_node *n = &thread->nodes[i];
            if (n->image >= p->image_count)
                continue;
            struct extent *x = &extents[n->image];
            bool empty = x->first >= x->last;
            if (empty || n->offset < x->first)
                x->first = n->offset & ~(PAGE - 1);
            if (empty || n->offset >= x->last)
                x->last = n->offset + 1;
        }
    }
    return extents;
}

static int range_compare(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* False if they overlap. Sorts. */
static bool ranges_disjoint(struct range *ranges, uint32_t count)
{
    qsort(ranges, count, sizeof *ranges, range_compare);
    for (uint32_t i = 1; i < count; i++)
        if (ranges[i].start < ranges[i - 1].limit)
            return false;
    return true;
}

/* The first place of each image in the only process. False if that does not give every image that
 * has addresses a place of its own, or without memory. */
static bool maps_real(const struct profile *p, const struct extent *extents,
                      struct pprof_map *maps)
{
    if (p->process_count != 1)
        return false;
    const struct profile_process *process = &p->processes[0];
    struct range *ranges = calloc(p->image_count + 1u, sizeof *ranges);
    if (!ranges)
        return false;
    uint32_t placed = 0, wanted = 0;
    for (uint32_t i = 0; i < process->map_count; i++) {
        const struct profile_map *m = &process->maps[i];
        if (m->image >= p->image_count || maps[m->image].limit)
            continue;
        struct extent x = extents[m->image];
        if (x.last <= x.first)
            continue;
        struct pprof_map *map = &maps[m->image];
        map->bias = m->bias;
        map->start = (m->bias + x.first) & ~(PAGE - 1);
        map->limit = (m->bias + x.last + PAGE - 1) & ~(PAGE - 1);
        ranges[placed++] = (struct range){map->start, map->limit};
    }
    for (uint32_t i = 0; i < p->image_count; i++)
        wanted += extents[i].last > extents[i].first;
    bool ok = placed == wanted && ranges_disjoint(ranges, placed);
    free(ranges);
    return ok;
}

static void maps_made_up(const struct profile *p, const struct extent *extents,
                         struct pprof_map *maps)
{
    uint64_t at = FIRST_MADE_UP;
    for (uint32_t i = 0; i < p->image_count; i++) {
        uint64_t first = extents[i].first & ~(PAGE - 1);
        uint64_t size = extents[i].last > first ? extents[i].last - first : PAGE;
        maps[i].start = at;
        maps[i].bias = at - first;
        maps[i].limit = at + ((size + PAGE - 1) & ~(PAGE - 1));
        at = (maps[i].limit + GAP) & ~(GAP - 1);
    }
}

struct pprof_map *pprof_maps_build(const struct profile *p)
{
    struct pprof_map *maps = calloc(p->image_count + 1u, sizeof *maps);
    struct extent *extents = extents_build(p);
    if (maps && extents && !maps_real(p, extents, maps))
        maps_made_up(p, extents, maps);
    if (!extents) {
        free(maps);
        maps = NULL;
    }
    free(extents);
    return maps;
}

uint32_t pprof_maps_main(const struct profile *p)
{
    for (uint32_t i = 0; i < p->image_count; i++)
        if (p->images[i].flags & PROFILE_IMAGE_MAIN)
            return i;
    return 0;
}
