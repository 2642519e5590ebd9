/* What a process has mapped to be executed: by address; later maps cover earlier ones. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collector/machine/machine_process.h"

void machine_process_index_drop(struct machine_process *p)
{
    free(p->index);
    p->index = NULL;
}

bool machine_process_maps_room(struct machine_process *p, uint32_t more)
{
    if (p->map_count + more <= p->map_capacity)
        return true;
    uint32_t capacity = (p->map_count + more) * 2;
    struct machine_map *larger = reallocarray(p->maps, capacity, sizeof *larger);
    if (!larger)
        return false;
    p->maps = larger;
    p->map_capacity = capacity;
    return true;
}

/* What is left of map m of p where [lo, hi) covers part of it: up to two pieces. */
static uint32_t cut(const struct machine_map *m, uint64_t lo, uint64_t hi, struct machine_map *to)
{
    uint32_t count = 0;
    if (m->lo < lo) {
        to[count] = *m;
        to[count].hi = m->hi < lo ? m->hi : lo;
        count++;
    }
    if (m->hi > hi) {
        to[count] = *m;
        to[count].lo = m->lo > hi ? m->lo : hi;
        to[count].offset += to[count].lo - m->lo;
        count++;
    }
    return count;
}

bool machine_process_map_add(struct machine_process *p, const struct machine_map *map)
{
    uint32_t first = 0, last, pieces = 0;
    struct machine_map piece[5];
    if (!machine_process_maps_room(p, 3))
        return false;
    while (first < p->map_count && p->maps[first].hi <= map->lo)
        first++;
    for (last = first; last < p->map_count && p->maps[last].lo < map->hi; last++)
        continue;
    /* Of those in between, the first and the last may reach beyond. */
    if (last > first)
        pieces = cut(&p->maps[first], map->lo, map->hi, piece);
    uint32_t before = pieces && piece[0].lo < map->lo ? 1 : 0;
    memmove(piece + before + 1, piece + before, (pieces - before) * sizeof *piece);
    piece[before] = *map;
    pieces++;
    if (last > first + 1 && p->maps[last - 1].hi > map->hi)
        pieces += cut(&p->maps[last - 1], map->lo, map->hi, piece + pieces);
    memmove(p->maps + first + pieces, p->maps + last, (p->map_count - last) * sizeof *p->maps);
    memcpy(p->maps + first, piece, pieces * sizeof *piece);
    p->map_count = p->map_count - (last - first) + pieces;
    machine_process_index_drop(p);
    return true;
}

const struct machine_map *machine_process_map(const struct machine_process *p, uint64_t address)
{
    uint32_t low = ARRAY_LEADING(p->map_count, i, p->maps[i].hi <= address);
    return low < p->map_count && p->maps[low].lo <= address ? &p->maps[low] : NULL;
}
