#include "sigsafe/spool_counts.h"

#include <sys/mman.h>

#include "sigsafe/sys.h"

enum { CHUNK_LEAST = 126, CHUNK_MOST = 2046 }; /* things: up to 64 kB a chunk */

/* A chunk whose first id is `first`, in front of `old`, unless another thread was faster. False
 * only if there is no room. */
static bool chunk_push_as(const struct spool *s, struct spool_counts *c, spool_ref old,
                          uint32_t first, uint32_t capacity)
{
    if (first > COUNTS_IDS_MAX - capacity)
        return false;
    struct spool_things *chunk =
        spool_alloc_as(s, sizeof *chunk + capacity * sizeof chunk->things[0]);
    if (!chunk)
        return false;
    chunk->next = old;
    chunk->first = first;
    chunk->capacity = capacity;
    /* The loser's chunk is lost: one of a few kilobytes, once in thousands of things. */
    __atomic_compare_exchange_n(&c->things, &old, spool_ref_of(s, chunk), false, __ATOMIC_RELEASE,
                                __ATOMIC_RELAXED);
    return true;
}

struct spool_counts *counts_begin_as(const struct spool *s, struct spool_process *process)
{
    struct spool_counts *c = spool_alloc_as(s, sizeof *c);
    if (!c || !chunk_push_as(s, c, 0, 0, CHUNK_LEAST))
        return NULL;
    __atomic_store_n(&process->counts, spool_ref_of(s, c), __ATOMIC_RELEASE);
    return c;
}

struct spool_counts *counts_fork_child_as(const struct spool *s, const struct spool_counts *parent,
                                          struct spool_process *process)
{
    struct spool_counts *c = spool_alloc_as(s, sizeof *c);
    if (!c)
        return NULL;
    /* The parent goes on giving out ids of the same chunk: the child's first chunk ends them. Of a
     * chunk that it has not begun there is nothing to share. */
    c->words = parent->words;
    spool_ref shared = __atomic_load_n(&parent->things, __ATOMIC_ACQUIRE);
    uint32_t ids = counts_ids_as(s, parent);
    const struct spool_things *chunk = spool_at(s, shared, sizeof *chunk);
    if (chunk && chunk->first == ids)
        shared = __atomic_load_n(&chunk->next, __ATOMIC_ACQUIRE);
    c->things = shared;
    if (!chunk_push_as(s, c, shared, ids, CHUNK_LEAST))
        return NULL;
    __atomic_store_n(&process->counts, spool_ref_of(s, c), __ATOMIC_RELEASE);
    return c;
}

uint32_t counts_ids_as(const struct spool *s, const struct spool_counts *c)
{
    const struct spool_things *chunk =
        spool_at(s, __atomic_load_n(&c->things, __ATOMIC_ACQUIRE), sizeof *chunk);
    if (!chunk)
        return 0;
    uint32_t used = __atomic_load_n(&chunk->used, __ATOMIC_ACQUIRE);
    return chunk->first + (used < chunk->capacity ? used : chunk->capacity);
}

static void thing_copy_as(struct spool_thing *to, const struct spool_thing *from)
{
    to->key = from->key;
    for (unsigned i = 0; i < sizeof to->words / sizeof *to->words; i++)
        to->words[i] = from->words[i];
    to->tool = from->tool;
    /* Completes the record: pairs with the readers' acquire load. */
    __atomic_store_n(&to->kind, from->kind, __ATOMIC_RELEASE);
}

uint32_t counts_thing_as(const struct spool *s, struct spool_counts *c,
                         const struct spool_thing *thing)
{
    for (;;) {
        spool_ref ref = __atomic_load_n(&c->things, __ATOMIC_ACQUIRE);
        struct spool_things *chunk = spool_at(s, ref, sizeof *chunk);
        if (!chunk)
            return COUNTS_NONE;
        /* Looked at first, so that failing over and over does not make the number wrap. */
        uint32_t at = __atomic_load_n(&chunk->used, __ATOMIC_RELAXED);
        if (at < chunk->capacity)
            at = __atomic_fetch_add(&chunk->used, 1, __ATOMIC_ACQ_REL);
        if (at < chunk->capacity) {
            thing_copy_as(&chunk->things[at], thing);
            return chunk->first + at;
        }
        uint32_t more = chunk->capacity < CHUNK_MOST ? 2 * chunk->capacity + 2 : CHUNK_MOST;
        if (!chunk_push_as(s, c, ref, chunk->first + chunk->capacity, more))
            return COUNTS_NONE;
    }
}

bool counts_window_begin_as(const struct spool *s, struct spool_counts *c, struct counts_window *w,
                            uint64_t *base, uint32_t capacity, int32_t tid)
{
    struct spool_window *record = spool_alloc_as(s, sizeof *record);
    if (!record)
        return false;
    record->tid = tid;
    spool_push_as(s, &c->windows, record);
    *w = (struct counts_window){
        .record = record, .base = base, .capacity = capacity, .words = counts_words(c)};
    return true;
}

/* Puts a piece's counters where the window has them. */
static bool piece_map_as(const struct spool *s, const struct counts_window *w,
                         const struct spool_piece *piece)
{
    uint64_t each = w->words * sizeof *w->base, size = piece->count * each;
    long to = (long)((uint8_t *)w->base + piece->first * each);
    const void *pages = spool_at(s, piece->counters, size);
    return pages && piece->first <= w->capacity && piece->count <= w->capacity - piece->first &&
           sys_call6_as(SYS_mremap, (long)pages, 0, (long)size, MREMAP_MAYMOVE | MREMAP_FIXED, to,
                        0) == to;
}

bool counts_window_resume_as(const struct spool *s, const struct spool_counts *c,
                             struct counts_window *w, struct spool_window *record, uint64_t *base,
                             uint32_t capacity, int32_t tid)
{
    *w = (struct counts_window){
        .record = record, .base = base, .capacity = capacity, .words = counts_words(c)};
    record->tid = tid;
    spool_ref ref = __atomic_load_n(&record->pieces, __ATOMIC_ACQUIRE);
    const struct spool_piece *piece;
    for (; (piece = spool_at(s, ref, sizeof *piece)); ref = piece->next) {
        if (!piece_map_as(s, w, piece))
            return false;
        if (w->mapped < piece->first + piece->count)
            w->mapped = piece->first + piece->count;
    }
    return true;
}

/* Whole pieces for the ids [w->mapped, ids), in one system call. */
bool counts_window_grow_as(const struct spool *s, struct counts_window *w, uint32_t ids)
{
    if (ids <= w->mapped)
        return true;
    if (ids > w->capacity || ids > COUNTS_IDS_MAX)
        return false;
    uint32_t count = (ids - w->mapped + COUNTS_PIECE - 1) / COUNTS_PIECE * COUNTS_PIECE;
    if (count > w->capacity - w->mapped)
        return false;
    uint64_t size = (uint64_t)count * w->words * sizeof *w->base;
    struct spool_piece *piece = spool_alloc_as(s, sizeof *piece);
    uint64_t *pages = piece ? spool_alloc_pages_as(s, size) : NULL;
    if (!pages)
        return false;
    piece->counters = spool_ref_of(s, pages);
    piece->first = w->mapped;
    piece->count = count;
    if (!piece_map_as(s, w, piece))
        return false;
    spool_push_as(s, &w->record->pieces, piece);
    w->mapped += count;
    return true;
}
