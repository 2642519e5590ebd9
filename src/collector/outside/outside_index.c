/* What is mapped where in a process, by its records in the spool: for the unwinder. */
#include <stdlib.h>

#include "collector/outside/outside_process.h"

enum { MAPS_MOST = 1 << 16, TABLE_UNTRIED = 0 };

static int compare(const void *a, const void *b)
{
    const struct unwind_image *x = a, *y = b;
    return (x->lo > y->lo) - (x->lo < y->lo);
}

/* The next map that is there, from ref on; *image is its image. NULL: there are no more. */
static const struct spool_map *map_next(const struct spool *s, spool_ref *ref, unsigned *left,
                                        const struct spool_image **image)
{
    while (*left) {
        const struct spool_map *map = spool_at(s, *ref, sizeof *map);
        if (!map)
            return NULL;
        --*left;
        *ref = map->next;
        *image = spool_at(s, map->image, sizeof **image);
        if (*image && map->lo < map->hi && !__atomic_load_n(&map->epoch_last, __ATOMIC_RELAXED))
            return map;
    }
    return NULL;
}

static struct unwind_image describe(const struct spool *s, const struct spool_map *map,
                                    const struct spool_image *image)
{
    return (struct unwind_image){.lo = map->lo,
                                 .hi = map->hi,
                                 .bias = map->bias,
                                 .number = image->number,
                                 .hidden = image->flags & IMAGE_RUNTIME,
                                 .table_ref = &image->table,
                                 .table_base = s->base,
                                 .table_limit = s->mapped};
}

/* Images that overlap are nonsense: the later one is left out. */
static uint32_t without_overlaps(struct unwind_image *image, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!kept || image[i].lo >= image[kept - 1].hi)
            image[kept++] = image[i];
    return kept;
}

static struct unwind_index *build(struct outside_tools *tools, spool_ref maps, bool *ready)
{
    const struct spool_image *image;
    const struct spool_map *map;
    unsigned left = MAPS_MOST;
    uint32_t count = 0, i = 0;
    for (spool_ref ref = maps; map_next(tools->spool, &ref, &left, &image);)
        count++;
    struct unwind_index *index = malloc(sizeof *index + count * sizeof *index->image);
    if (!index)
        return NULL;
    left = MAPS_MOST;
    *ready = true;
    for (spool_ref ref = maps; i < count && (map = map_next(tools->spool, &ref, &left, &image));
         i++) {
        index->image[i] = describe(tools->spool, map, image);
        *ready &= __atomic_load_n(&image->table_state, __ATOMIC_ACQUIRE) != TABLE_UNTRIED;
    }
    qsort(index->image, i, sizeof *index->image, compare);
    index->count = without_overlaps(index->image, i);
    index->generation = ++tools->generation;
    return index;
}

bool outside_index_update(struct outside_tools *tools, struct outside_process *p)
{
    spool_ref maps = __atomic_load_n(&p->record->maps, __ATOMIC_ACQUIRE);
    uint32_t epoch = __atomic_load_n(&p->record->epoch, __ATOMIC_ACQUIRE);
    if (p->index && p->maps == maps && p->epoch == epoch)
        return true;
    bool ready = false;
    struct unwind_index *index = build(tools, maps, &ready);
    if (!index || !ready) {
        free(index);
        return false;
    }
    free(p->index);
    p->index = index;
    p->maps = maps;
    p->epoch = epoch;
    return true;
}
