#include <stdlib.h>
#include <string.h>

#include "modules/host_internal.h"
#include "sigsafe/hash.h"

static uint32_t hash_of(uint64_t key, uint64_t site, uint32_t kind, spool_ref process)
{
    uint64_t h = hash_word(key ^ (uint64_t)kind << 48);
    h = (h ^ h >> 29 ^ site ^ process) * UINT64_C(0xff51afd7ed558ccd);
    return (uint32_t)(h >> 32);
}

static bool is_of(const struct spool_hotlist *h, uint64_t key, uint64_t site, uint32_t kind,
                  spool_ref process)
{
    return h->key == key && h->site == site && h->kind == kind && h->process == process;
}

static bool grow(struct host_table *t)
{
    uint32_t capacity = t->capacity ? t->capacity * 2 : 4096;
    struct spool_hotlist **slots =
        t->capacity > UINT32_MAX / 4 ? NULL : calloc(capacity, sizeof *slots);
    if (!slots)
        return false;
    for (uint32_t i = 0; i < t->capacity; i++) {
        const struct spool_hotlist *h = t->slots[i];
        if (!h)
            continue;
        uint32_t at = hash_of(h->key, h->site, h->kind, h->process) & (capacity - 1);
        while (slots[at])
            at = (at + 1) & (capacity - 1);
        slots[at] = t->slots[i];
    }
    free(t->slots);
    t->slots = slots;
    t->capacity = capacity;
    return true;
}

/* Room for one more record, zeroed; not yet counted. */
static struct spool_hotlist *place_record(struct penumbra_host *host)
{
    struct host_table *t = &host->table;
    enum hotlist_kind kind = host->options.summary;
    if (!t->chunk || t->chunk->count == spool_hotlists_capacity(kind)) {
        struct spool_hotlists *chunk = spool_alloc_pages_as(host->spool, SPOOL_HOTLISTS_SIZE);
        if (!chunk)
            return NULL;
        host_allow(host, chunk, SPOOL_HOTLISTS_SIZE);
        spool_push_as(host->spool, &host->values->chunks, chunk);
        t->chunk = chunk;
    }
    return (void *)((uint8_t *)(t->chunk + 1) + t->chunk->count * spool_hotlist_size(kind));
}

struct spool_hotlist *host_table_find(struct penumbra_host *host, uint64_t key, uint64_t site,
                                      uint32_t kind, spool_ref process)
{
    struct host_table *t = &host->table;
    if (t->count >= t->capacity / 2 && !grow(t))
        return NULL;
    uint32_t at = hash_of(key, site, kind, process) & (t->capacity - 1);
    for (; t->slots[at]; at = (at + 1) & (t->capacity - 1))
        if (is_of(t->slots[at], key, site, kind, process))
            return t->slots[at];
    struct spool_hotlist *h = place_record(host);
    if (!h)
        return NULL;
    h->key = key;
    h->site = site;
    h->kind = kind;
    h->process = process;
    __atomic_store_n(&t->chunk->count, t->chunk->count + 1, __ATOMIC_RELEASE);
    t->slots[at] = h;
    t->count++;
    return h;
}
