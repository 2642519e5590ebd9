#include "profile/spool_paths.h"

#include <stdlib.h>

#include "base/saturate.h"

struct reader {
    struct spool_view *view;
    const struct spool_paths_user *user;
    struct profile_paths *to;
};

/* A table as it was found: the program may change it. */
struct table {
    const struct spool_path *entries;
    const uint32_t *sequences;
    uint32_t capacity, words;
};

static uint64_t load(const uint64_t *at)
{
    return __atomic_load_n(at, __ATOMIC_RELAXED);
}

static bool get_table(const struct spool_view *v, spool_ref ref, struct table *out)
{
    const struct spool_path_table *t = spool_at(&v->spool, ref, sizeof *t);
    if (!t)
        return false;
    out->capacity = __atomic_load_n(&t->capacity, __ATOMIC_RELAXED);
    out->words = __atomic_load_n(&t->words, __ATOMIC_RELAXED);
    out->entries = spool_at(&v->spool, t->entries, out->capacity * sizeof *out->entries);
    out->sequences = spool_at(&v->spool, t->sequences, out->words * sizeof *out->sequences);
    return out->entries && out->sequences;
}

/* The blocks of a path. False: it is no path. */
static bool get_blocks(struct reader *q, const struct table *t, const struct spool_path *path,
                       uint32_t *blocks, uint32_t *length, bool *memory)
{
    uint32_t first = __atomic_load_n(&path->first, __ATOMIC_RELAXED);
    *length = __atomic_load_n(&path->length, __ATOMIC_RELAXED);
    if (!*length || *length > PATH_BLOCKS || first > t->words || *length > t->words - first)
        return false;
    for (uint32_t i = 0; i < *length; i++) {
        uint32_t id = __atomic_load_n(&t->sequences[first + i], __ATOMIC_RELAXED);
        *memory = q->user->block(q->user->data, id, &blocks[i]);
        if (!*memory || blocks[i] == UINT32_MAX)
            return false;
    }
    return true;
}

static bool get_path(struct reader *q, const struct table *t, const struct spool_path *path)
{
    uint32_t blocks[PATH_BLOCKS], length;
    uint64_t count = spool_view_count(q->view, &path->count);
    bool memory = true;
    if (!__atomic_load_n(&path->hash, __ATOMIC_ACQUIRE))
        return true;
    if (!get_blocks(q, t, path, blocks, &length, &memory)) {
        q->view->damage += memory;
        return memory;
    }
    for (uint32_t i = 0; i < length; i++)
        q->user->count(q->user->data, blocks[i], count);
    return profile_paths_add(q->to, blocks, length, count);
}

static void get_totals(struct reader *q, const struct spool_paths *s)
{
    struct profile_paths *p = q->to;
    p->dropped_paths = add_saturated(p->dropped_paths, load(&s->dropped_paths));
    p->dropped = add_saturated(p->dropped, load(&s->dropped));
    p->dropped_instructions = add_saturated(p->dropped_instructions,
                                            load(&s->dropped_instructions));
    p->cut = add_saturated(p->cut, load(&s->cut));
    p->cut_instructions = add_saturated(p->cut_instructions, load(&s->cut_instructions));
}

static bool get_thread(struct reader *q, const struct spool_paths *s, uint64_t *entries)
{
    struct table t;
    uint32_t current = __atomic_load_n(&s->current, __ATOMIC_ACQUIRE);
    if (current > 1 || !get_table(q->view, __atomic_load_n(&s->tables[current], __ATOMIC_ACQUIRE), &t) ||
        t.capacity > *entries) {
        q->view->damage++;
        return true;
    }
    *entries -= t.capacity;
    get_totals(q, s);
    bool ok = true;
    for (uint32_t i = 0; ok && i < t.capacity; i++)
        ok = get_path(q, &t, &t.entries[i]);
    return ok;
}

bool spool_paths_read(struct spool_view *v, const struct spool_counts *record, uint64_t *entries,
                      const struct spool_paths_user *user, struct profile_paths *to)
{
    struct reader q = {v, user, to};
    struct record_list list = {0};
    bool ok = spool_view_list(v, &record->paths, sizeof(struct spool_paths), &list);
    for (uint32_t i = 0; ok && i < list.count; i++)
        ok = get_thread(&q, list.records[i], entries);
    free(list.records);
    return ok;
}
