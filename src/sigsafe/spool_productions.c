#include "sigsafe/spool_productions.h"

#include <stddef.h>

#include "sigsafe/hash.h"

bool production_store_begin_as(struct production_store *p, const struct spool *s, uint32_t *list,
                               int32_t tid)
{
    struct spool_productions *record = spool_alloc_as(s, sizeof *record);
    p->spool = s;
    p->record = record;
    p->counts = NULL;
    if (!record)
        return false;
    record->tid = tid;
    spool_push_as(s, list, record);
    return true;
}

/* ---- counts ---- */

static uint64_t mix(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t hash = hash_word(a ^ (b + c) * UINT64_C(0xd6e8feb86659fd93));
    return hash ^ hash >> 32;
}

/* Its entry, or the free one where it goes. */
static struct spool_production_count *place_of(struct spool_production_counts *counts,
                                               uint32_t group, uint64_t a, uint64_t b)
{
    uint32_t mask = counts->capacity - 1, at = (uint32_t)mix(a, b, group) & mask;
    for (;; at = (at + 1) & mask) {
        struct spool_production_count *e = &counts->entries[at];
        if (!e->count || (e->a == a && e->b == b && e->group == group))
            return e;
    }
}

static bool counts_grow_as(struct production_store *p)
{
    uint32_t old = p->counts ? p->counts->capacity : 0;
    uint32_t capacity = old ? old * 2 : PRODUCTION_COUNTS_FIRST;
    struct spool_production_counts *made =
        spool_alloc_as(p->spool, sizeof *made + (uint64_t)capacity * sizeof *made->entries);
    if (!made)
        return false;
    made->capacity = capacity;
    for (uint32_t i = 0; i < old; i++) {
        const struct spool_production_count *e = &p->counts->entries[i];
        if (e->count)
            *place_of(made, e->group, e->a, e->b) = *e;
    }
    p->counts = made;
    __atomic_store_n(&p->record->counts, spool_ref_of(p->spool, made), __ATOMIC_RELEASE);
    return true;
}

enum production_put production_count_as(struct production_store *p, uint32_t group, uint64_t a,
                                        uint64_t b)
{
    struct spool_productions *r = p->record;
    struct spool_production_count *e = p->counts ? place_of(p->counts, group, a, b) : NULL;
    if (!e || (!e->count && r->counts_used >= p->counts->capacity / 4 * 3)) {
        if (e && p->counts->capacity == PRODUCTION_COUNTS_MOST)
            return PRODUCTION_FULL;
        if (!counts_grow_as(p))
            return PRODUCTION_NO_ROOM;
        e = place_of(p->counts, group, a, b);
    }
    if (!e->count) {
        e->a = a;
        e->b = b;
        e->group = group;
        r->counts_used++;
    }
    __atomic_store_n(&e->count, e->count + 1, __ATOMIC_RELEASE);
    return PRODUCTION_PUT;
}

struct spool_production_count *production_counted_as(const struct production_store *p,
                                                     uint32_t group, uint64_t a, uint64_t b)
{
    struct spool_production_count *e = p->counts ? place_of(p->counts, group, a, b) : NULL;
    return e && e->count ? e : NULL;
}

/* ---- buffers ---- */

static bool buffer_grow_as(struct production_store *p, struct spool_production_buffer *b)
{
    uint32_t capacity = b->capacity ? b->capacity * 2 : PRODUCTION_BUFFER_FIRST;
    struct hot_item *items = spool_alloc_as(p->spool, (uint64_t)capacity * sizeof *items);
    const struct hot_item *old =
        b->capacity ? spool_at(p->spool, b->items, b->capacity * sizeof *old) : NULL;
    if (!items)
        return false;
    for (uint32_t i = 0; old && i < b->count; i++)
        items[i] = old[i];
    b->items = spool_ref_of(p->spool, items);
    b->capacity = capacity;
    return true;
}

enum production_put production_append_as(struct production_store *p, uint32_t group,
                                         struct hot_item item)
{
    struct spool_production_buffer *b = &p->record->buffers[group];
    b->group = group;
    if (b->count == b->capacity) {
        if (b->capacity == PRODUCTION_BUFFER_MOST)
            return PRODUCTION_FULL;
        if (!buffer_grow_as(p, b))
            return PRODUCTION_NO_ROOM;
    }
    struct hot_item *items = spool_at(p->spool, b->items, (uint64_t)b->capacity * sizeof *items);
    if (!items)
        return PRODUCTION_NO_ROOM;
    items[b->count] = item;
    __atomic_store_n(&b->count, b->count + 1, __ATOMIC_RELEASE);
    return PRODUCTION_PUT;
}

const struct hot_item *production_items(const struct spool *s,
                                        const struct spool_production_buffer *b, uint32_t *count)
{
    uint32_t n = __atomic_load_n(&b->count, __ATOMIC_ACQUIRE);
    *count = n < PRODUCTION_BUFFER_MOST ? n : PRODUCTION_BUFFER_MOST;
    return *count ? spool_at(s, b->items, *count * sizeof(struct hot_item)) : NULL;
}

/* ---- streams ---- */

struct search {
    struct production_store *store;
    const struct hot_item *items;
    uint32_t group;
};

static bool same_stream(const struct spool_production_stream *s, const struct search *w,
                        const uint32_t *indices, uint32_t length)
{
    bool same = s->group == w->group && s->length == length;
    for (uint32_t i = 0; same && i < length; i++)
        same = s->items[i].a == w->items[indices[i]].a && s->items[i].b == w->items[indices[i]].b;
    return same;
}

/* The one that has been found before; NULL: there is none. */
static struct spool_production_stream *stream_find(const struct search *w, uint32_t chain,
                                                   uint64_t hash, const uint32_t *indices,
                                                   uint32_t length)
{
    struct spool_production_stream *s = spool_at(w->store->spool, chain, sizeof *s);
    while (s && (s->hash != hash || !same_stream(s, w, indices, length)))
        s = spool_at(w->store->spool, s->next, sizeof *s);
    return s;
}

static struct spool_production_stream *stream_make_as(const struct search *w, uint32_t *chain,
                                                      uint64_t hash, const uint32_t *indices,
                                                      uint32_t length)
{
    struct production_store *p = w->store;
    struct spool_production_stream *s = NULL;
    if (p->record->stream_count < PRODUCTION_STREAMS_MOST)
        s = spool_alloc_as(p->spool, sizeof *s + length * sizeof *s->items);
    if (!s)
        return NULL;
    s->group = w->group;
    s->length = length;
    s->hash = hash;
    for (uint32_t i = 0; i < length; i++)
        s->items[i] = w->items[indices[i]];
    p->record->stream_count++;
    spool_push_as(p->spool, chain, s);
    return s;
}

static void found_as(void *data, const uint32_t *indices, uint32_t length, uint32_t frequency)
{
    const struct search *w = data;
    struct production_store *p = w->store;
    uint64_t hash = w->group;
    for (uint32_t i = 0; i < length; i++)
        hash = mix(hash, w->items[indices[i]].a, w->items[indices[i]].b);
    uint32_t *chain = &p->record->streams[hash % PRODUCTION_CHAINS];
    struct spool_production_stream *s = stream_find(w, *chain, hash, indices, length);
    if (!s)
        s = stream_make_as(w, chain, hash, indices, length);
    if (s)
        s->frequency += frequency;
    else
        p->record->lost[w->group] += (uint64_t)length * frequency;
}

void production_search_as(struct production_store *p, uint32_t group, void *memory)
{
    struct spool_production_buffer *b = &p->record->buffers[group];
    uint32_t count;
    const struct hot_item *items = production_items(p->spool, b, &count);
    struct search w = { p, items, group };
    if (items)
        hot_streams_find(memory, items, count, found_as, &w);
    __atomic_store_n(&b->count, 0, __ATOMIC_RELEASE);
}

/* ---- images ---- */

uint32_t production_image_bits_as(const struct spool *s, const struct production_program *p,
                                  unsigned number)
{
    const struct spool_image *image =
        spool_at(s, __atomic_load_n(&spool_header(s)->images, __ATOMIC_ACQUIRE), sizeof *image);
    while (image && image->number != number)
        image = spool_at(s, image->next, sizeof *image);
    const struct spool_string *path =
        image ? spool_at(s, image->path, sizeof *path) : NULL;
    if (!path)
        return 0;
    uint32_t from = path->length, bits = 0;
    while (from && path->bytes[from - 1] != '/')
        from--;
    for (uint32_t i = 0; i < p->image_count && i < PRODUCTION_IMAGES; i++) {
        uint32_t at = 0;
        while (at < PRODUCTION_NAME && from + at < path->length && p->images[i][at] &&
               p->images[i][at] == path->bytes[from + at])
            at++;
        if (at && from + at == path->length && at < PRODUCTION_NAME && !p->images[i][at])
            bits |= UINT32_C(1) << i;
    }
    return bits;
}
