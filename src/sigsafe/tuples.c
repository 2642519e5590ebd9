#include "sigsafe/tuples.h"

#include "sigsafe/spool_counts.h"

struct spool_tuples *tuples_begin_as(const struct spool *s, struct spool_counts *c)
{
    struct spool_tuples *t;
    spool_ref there = __atomic_load_n(&c->tuples, __ATOMIC_ACQUIRE);
    if (!there) {
        t = spool_alloc_as(s, sizeof *t);
        if (!t)
            return NULL;
        if (__atomic_compare_exchange_n(&c->tuples, &there, spool_ref_of(s, t), false,
                                        __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
            return t;
    }
    return spool_at(s, there, sizeof *t);
}

struct tuple_ring *tuples_ring_make_as(const struct spool *s, struct spool_tuples *t, int32_t tid,
                                       uint32_t size)
{
    /* Whole pages, so that its lines are not shared. */
    struct tuple_ring *ring = spool_alloc_pages_as(s, SPOOL_PAGE + size);
    _Static_assert(sizeof *ring <= SPOOL_PAGE, "what is in it comes behind it");
    if (!ring)
        return NULL;
    ring->tid = tid;
    ring->data = spool_ref_of(s, (const uint8_t *)ring + SPOOL_PAGE);
    ring->size = size;
    spool_push_as(s, &t->rings, ring);
    return ring;
}

/* ---- records ---- */

struct tuple_insn *tuples_insn_at(const struct spool *s, const struct spool_tuples *t, uint32_t id)
{
    if (id / TUPLES_CHUNK >= TUPLES_CHUNKS)
        return NULL;
    spool_ref chunk = __atomic_load_n(&t->chunks[id / TUPLES_CHUNK], __ATOMIC_ACQUIRE);
    struct tuple_insn *records = spool_at(s, chunk, TUPLES_CHUNK * sizeof *records);
    return records ? &records[id % TUPLES_CHUNK] : NULL;
}

static struct tuple_insn *chunk_make_as(const struct spool *s, struct spool_tuples *t, uint32_t id)
{
    struct tuple_insn *records = spool_alloc_pages_as(s, TUPLES_CHUNK * sizeof *records);
    if (!records)
        return NULL;
    uint32_t none = 0;
    /* The loser's pages are lost: two threads met new code in the same microsecond. */
    __atomic_compare_exchange_n(&t->chunks[id / TUPLES_CHUNK], &none, spool_ref_of(s, records),
                                false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    return tuples_insn_at(s, t, id);
}

struct tuple_insn *tuples_insn_make_as(const struct spool *s, struct spool_tuples *t, uint32_t *id)
{
    /* Looked at first, so that failing over and over does not make the number wrap. */
    uint32_t used = __atomic_load_n(&t->used, __ATOMIC_RELAXED);
    if (used >= TUPLES_CHUNK * TUPLES_CHUNKS)
        return NULL;
    *id = __atomic_fetch_add(&t->used, 1, __ATOMIC_RELAXED);
    if (*id >= TUPLES_CHUNK * TUPLES_CHUNKS)
        return NULL;
    struct tuple_insn *record = tuples_insn_at(s, t, *id);
    return record ? record : chunk_make_as(s, t, *id);
}

/* ---- the producer ---- */

uint64_t *tuples_word_as(const struct spool *s, const struct tuple_ring *r, uint64_t position)
{
    uint8_t *data = s->base + (uint64_t)r->data * SPOOL_UNIT;
    return (uint64_t *)(void *)(data + (position & (r->size - 1)));
}

static uint64_t pad_make(uint32_t words)
{
    union {
        uint64_t word;
        struct {
            uint32_t words;
            uint16_t count, flags;
        } head;
    } pad = {.head = {.words = words, .flags = TUPLE_PAD}};
    return pad.word;
}

bool tuples_reserve_as(const struct spool *s, struct tuple_ring *r, uint32_t words)
{
    uint64_t size = r->size, head = r->head, need = (uint64_t)words * 8;
    uint64_t used = head - __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE);
    uint64_t end = size - (head & (size - 1)), pad = end < need ? end : 0;
    if (used > size || need + pad > size - used)
        return false;
    if (pad)
        *tuples_word_as(s, r, head) = pad_make((uint32_t)(pad / 8));
    r->cursor.begin = head + pad;
    return true;
}

void tuples_publish_as(const struct spool *s, struct tuple_ring *r, uint64_t end)
{
    struct tuple_sequence *sequence = (void *)tuples_word_as(s, r, r->cursor.begin);
    uint64_t tail = __atomic_load_n(&r->tail, __ATOMIC_RELAXED), many = r->size / TUPLE_BELL_SHARE;
    bool few = r->head - tail < many;
    sequence->words = (uint32_t)((end - r->cursor.begin) / 8);
    r->sequences++;
    r->tuples += sequence->count;
    __atomic_store_n(&r->head, end, __ATOMIC_RELEASE); /* pairs with the consumer's acquire */
    if (few && end - tail >= many)
        spool_wake_as(s, &spool_header(s)->tuples_bell);
}

/* ---- the consumer ---- */

/* The tuples of a copied sequence fill it exactly. */
static bool sequence_true(const uint64_t *words, uint32_t count, uint32_t tuples)
{
    uint32_t at = TUPLE_SEQUENCE_WORDS;
    for (uint32_t i = 0; i < tuples; i++) {
        if (at >= count)
            return false;
        const struct tuple_head *head = (const void *)&words[at];
        at += 1u + head->count;
    }
    return at == count;
}

static uint32_t give_up(struct tuple_ring *r, uint64_t head, bool *broken)
{
    *broken = true;
    __atomic_store_n(&r->tail, head, __ATOMIC_RELEASE);
    return 0;
}

uint32_t tuples_next(const struct spool *s, struct tuple_ring *r, uint64_t *to, bool *broken)
{
    uint64_t head = __atomic_load_n(&r->head, __ATOMIC_ACQUIRE), tail = r->tail;
    uint64_t size = r->size;
    uint8_t *data = spool_at(s, r->data, size);
    *broken = false;
    while (head != tail) {
        uint64_t at = tail & (size - 1), left = head - tail;
        if (!data || !size || size & (size - 1) || left > size || left % 8 || at % 8)
            return give_up(r, head, broken);
        const uint64_t *from = (const uint64_t *)(const void *)(data + at);
        to[0] = __atomic_load_n(from, __ATOMIC_RELAXED);
        const struct tuple_sequence *sequence = (const void *)to;
        uint32_t words = sequence->words;
        if (!words || words > left / 8 || words > (size - at) / 8)
            return give_up(r, head, broken);
        tail += (uint64_t)words * 8;
        if (sequence->flags & TUPLE_PAD)
            continue;
        if (words < TUPLE_SEQUENCE_WORDS || words > TUPLE_SEQUENCE_WORDS_MAX)
            return give_up(r, head, broken);
        for (uint32_t i = 1; i < words; i++)
            to[i] = from[i];
        if (!(sequence->flags & TUPLE_WARM) && !sequence_true(to, words, sequence->count))
            return give_up(r, head, broken);
        __atomic_store_n(&r->tail, tail, __ATOMIC_RELEASE);
        return words;
    }
    __atomic_store_n(&r->tail, tail, __ATOMIC_RELEASE);
    return 0;
}
