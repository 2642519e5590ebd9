#include "profile/paths.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"

struct profile_paths *profile_paths_new(void)
{
    return calloc(1, sizeof(struct profile_paths));
}

void profile_paths_free(struct profile_paths *p)
{
    if (!p)
        return;
    free(p->paths);
    free(p->sequence);
    free(p);
}

/* Room for `more` behind `count`. The array as it was where there is no memory, and false. */
static bool reserve(void **array, uint32_t *capacity, uint32_t count, uint32_t more, size_t each)
{
    if (more > UINT32_MAX / 2 - count)
        return false;
    if (count + more <= *capacity)
        return true;
    uint32_t wanted = *capacity ? *capacity : 1024;
    while (wanted < count + more)
        wanted *= 2;
    void *grown = realloc(*array, (size_t)wanted * each);
    if (!grown)
        return false;
    *array = grown;
    *capacity = wanted;
    return true;
}

bool profile_paths_add(struct profile_paths *p, const uint32_t *blocks, uint32_t length,
                       uint64_t count)
{
    void *paths = p->paths, *sequence = p->sequence;
    bool ok = reserve(&paths, &p->capacity, p->count, 1, sizeof *p->paths) &&
              reserve(&sequence, &p->sequence_capacity, p->sequence_count, length,
                      sizeof *p->sequence);
    p->paths = paths;
    p->sequence = sequence;
    if (!ok)
        return false;
    p->paths[p->count++] = (struct profile_path){count, p->sequence_count, length};
    memcpy(p->sequence + p->sequence_count, blocks, length * sizeof *blocks);
    p->sequence_count += length;
    return true;
}

bool profile_paths_append(struct profile_paths *p, const struct profile_paths *from, uint32_t by)
{
    for (uint32_t i = 0; i < from->count; i++) {
        const struct profile_path *path = &from->paths[i];
        uint32_t at = p->sequence_count;
        if (!profile_paths_add(p, from->sequence + path->first, path->length, path->count))
            return false;
        for (uint32_t k = at; k < p->sequence_count; k++)
            p->sequence[k] += by;
    }
    p->dropped_paths = add_saturated(p->dropped_paths, from->dropped_paths);
    p->dropped = add_saturated(p->dropped, from->dropped);
    p->dropped_instructions = add_saturated(p->dropped_instructions, from->dropped_instructions);
    p->cut = add_saturated(p->cut, from->cut);
    p->cut_instructions = add_saturated(p->cut_instructions, from->cut_instructions);
    return true;
}

#define ORDER(x, y)                                                                                \
    if ((x) != (y))                                                                                \
    return (x) < (y) ? -1 : 1

/* qsort_r's argument: the sequence. */
static int compare_blocks(const void *a, const void *b, void *sequence)
{
    const struct profile_path *x = a, *y = b;
    const uint32_t *s = (const uint32_t *)sequence + x->first, *t = (const uint32_t *)sequence + y->first;
    for (uint32_t i = 0; i < x->length && i < y->length; i++)
        ORDER(s[i], t[i]);
    ORDER(x->length, y->length);
    return 0;
}

static int compare_paths(const void *a, const void *b, void *sequence)
{
    const struct profile_path *x = a, *y = b;
    ORDER(y->count, x->count);
    return compare_blocks(a, b, sequence);
}

/* The sequences in the order of the paths, without what is no path's. */
static bool sequence_pack(struct profile_paths *p)
{
    uint32_t *packed = calloc((size_t)p->sequence_count + 1, sizeof *packed), used = 0;
    if (!packed)
        return false;
    for (uint32_t i = 0; i < p->count; i++) {
        struct profile_path *path = &p->paths[i];
        memcpy(packed + used, p->sequence + path->first, path->length * sizeof *packed);
        path->first = used;
        used += path->length;
    }
    free(p->sequence);
    p->sequence = packed;
    p->sequence_capacity = p->sequence_count + 1;
    p->sequence_count = used;
    return true;
}

bool profile_paths_settle(struct profile_paths *p, const uint32_t *new_index)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->sequence_count; i++)
        p->sequence[i] = new_index[p->sequence[i]];
    if (p->count)
        qsort_r(p->paths, p->count, sizeof *p->paths, compare_blocks, p->sequence);
    for (uint32_t i = 0; i < p->count; i++) {
        struct profile_path *last = kept ? &p->paths[kept - 1] : NULL;
        if (last && compare_blocks(last, &p->paths[i], p->sequence) == 0)
            last->count = add_saturated(last->count, p->paths[i].count);
        else
            p->paths[kept++] = p->paths[i];
    }
    p->count = kept;
    if (p->count)
        qsort_r(p->paths, p->count, sizeof *p->paths, compare_paths, p->sequence);
    return sequence_pack(p);
}

uint64_t profile_paths_executions(const struct profile_paths *p)
{
    uint64_t sum = p->dropped;
    for (uint32_t i = 0; i < p->count; i++)
        sum = add_saturated(sum, p->paths[i].count);
    return sum;
}
