/* Rings of tuples: what goes in comes out, in order, once, or is refused; and whatever a ring
 * holds, its reader stays inside it. */
#include "sigsafe/tuples.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "sigsafe/spool_counts.h"

enum { SPOOL_SIZE = 64 << 20, RING = 4096, SEQUENCES = 200000 };

struct fixture {
    struct spool spool;
    struct spool_tuples *tuples;
    struct tuple_ring *ring;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->spool.mapped = SPOOL_SIZE;
    f->spool.base = mmap(NULL, SPOOL_SIZE, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(f->spool.base, MAP_FAILED);
    struct spool_header *h = spool_header(&f->spool);
    h->size = h->limit = SPOOL_SIZE;
    h->next = SPOOL_HEADER_SIZE;
    struct spool_counts *counts = spool_alloc_as(&f->spool, sizeof *counts);
    f->tuples = tuples_begin_as(&f->spool, counts);
    assert_non_null(f->tuples);
    assert_ptr_equal(spool_at(&f->spool, counts->tuples, sizeof *f->tuples), f->tuples);
    f->ring = tuples_ring_make_as(&f->spool, f->tuples, 7, RING);
    assert_non_null(f->ring);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    munmap(f->spool.base, SPOOL_SIZE);
    free(f);
    return 0;
}

/* Sequence number n: n % 5 + 1 tuples of n % 4 values, all of them n. False: there is no room. */
static bool put(const struct fixture *f, uint64_t n)
{
    struct tuple_ring *r = f->ring;
    uint16_t tuples = (uint16_t)(n % 5 + 1);
    uint8_t values = (uint8_t)(n % 4);
    if (!tuples_reserve_as(&f->spool, r, TUPLE_SEQUENCE_WORDS + tuples * (1u + values)))
        return false;
    uint64_t at = r->cursor.begin;
    struct tuple_sequence *s = (void *)tuples_word_as(&f->spool, r, at);
    *s = (struct tuple_sequence){.count = tuples, .tid = 7, .ticks = n};
    at += sizeof *s;
    for (unsigned i = 0; i < tuples; i++) {
        struct tuple_head *head = (void *)tuples_word_as(&f->spool, r, at);
        *head = (struct tuple_head){.id = (uint32_t)n, .count = values};
        at += 8;
        for (unsigned k = 0; k < values; k++, at += 8)
            *tuples_word_as(&f->spool, r, at) = n;
    }
    tuples_publish_as(&f->spool, r, at);
    return true;
}

/* The next sequence's number; its content is what put() writes. UINT64_MAX: none. */
static uint64_t take(const struct fixture *f)
{
    uint64_t words[TUPLE_SEQUENCE_WORDS_MAX];
    bool broken;
    uint32_t count = tuples_next(&f->spool, f->ring, words, &broken);
    assert_false(broken);
    if (!count)
        return UINT64_MAX;
    const struct tuple_sequence *s = (const void *)words;
    uint64_t n = s->ticks;
    assert_int_equal(s->count, n % 5 + 1);
    uint32_t at = TUPLE_SEQUENCE_WORDS;
    for (unsigned i = 0; i < s->count; i++) {
        const struct tuple_head *head = (const void *)&words[at++];
        assert_int_equal(head->id, n);
        assert_int_equal(head->count, n % 4);
        for (unsigned k = 0; k < head->count; k++)
            assert_int_equal(words[at++], n);
    }
    assert_int_equal(at, count);
    return n;
}

static void full_ring_refuses(void **state)
{
    struct fixture *f = *state;
    uint64_t in = 0, out = 0;
    for (unsigned round = 0; round < 1000; round++) {
        while (put(f, in))
            in++;
        assert_true(in - out > 10);
        uint32_t rung = spool_header(&f->spool)->tuples_bell;
        assert_true(rung > 0);
        while (take(f) != UINT64_MAX)
            out++;
        assert_int_equal(in, out);
    }
    assert_int_equal(f->ring->sequences, in);
    assert_int_equal(f->ring->head, f->ring->tail);
}

static void *produce(void *fixture)
{
    for (uint64_t n = 0; n < SEQUENCES;)
        if (put(fixture, n))
            n++;
        else
            sched_yield();
    return NULL;
}

static void two_threads(void **state)
{
    struct fixture *f = *state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, produce, f), 0);
    for (uint64_t n = 0; n < SEQUENCES;) {
        uint64_t got = take(f);
        if (got == UINT64_MAX)
            sched_yield();
        else
            assert_int_equal(got, n++);
    }
    pthread_join(thread, NULL);
}

/* Random words in the ring, and random positions: nothing outside is read (the mapping's last pages
 * are the ring's here, and what lies behind them is not mapped). */
static void hostile_ring(void **state)
{
    struct fixture *f = *state;
    struct spool_header *h = spool_header(&f->spool);
    h->next = SPOOL_SIZE - RING;
    f->ring->data = (spool_ref)((SPOOL_SIZE - RING) / SPOOL_UNIT);
    unsigned seed = 5, taken = 0;
    for (unsigned round = 0; round < 20000; round++) {
        uint64_t *data = (void *)(f->spool.base + SPOOL_SIZE - RING);
        for (unsigned i = 0; i < RING / 8; i++)
            data[i] = (uint64_t)(rand_r(&seed) % 24) |
                      (uint64_t)(rand_r(&seed) % 3) << 32 | (uint64_t)(rand_r(&seed) & 7) << 48;
        f->ring->tail = round % 4 ? (uint64_t)(rand_r(&seed) % 1000) * 8 : (uint64_t)rand_r(&seed);
        f->ring->head = f->ring->tail + (round % 3 ? (uint64_t)(rand_r(&seed) % RING) / 8 * 8
                                                   : (uint64_t)rand_r(&seed));
        f->ring->size = round % 7 ? RING : (uint32_t)rand_r(&seed);
        uint64_t words[TUPLE_SEQUENCE_WORDS_MAX];
        bool broken;
        while (tuples_next(&f->spool, f->ring, words, &broken))
            taken++;
        assert_int_equal(f->ring->head, f->ring->tail);
    }
    assert_true(taken > 0);
}

static void records(void **state)
{
    struct fixture *f = *state;
    uint32_t id;
    for (uint32_t i = 0; i < 3 * TUPLES_CHUNK; i++) {
        struct tuple_insn *record = tuples_insn_make_as(&f->spool, f->tuples, &id);
        assert_non_null(record);
        assert_int_equal(id, i);
        assert_int_equal(record->length, 0);
        record->address = i;
        record->length = 1;
    }
    for (uint32_t i = 0; i < 3 * TUPLES_CHUNK; i++)
        assert_int_equal(tuples_insn_at(&f->spool, f->tuples, i)->address, i);
    assert_null(tuples_insn_at(&f->spool, f->tuples, 3 * TUPLES_CHUNK));
    assert_null(tuples_insn_at(&f->spool, f->tuples, UINT32_MAX));
    f->tuples->used = TUPLES_CHUNK * TUPLES_CHUNKS;
    assert_null(tuples_insn_make_as(&f->spool, f->tuples, &id));
    assert_int_equal(f->tuples->used, TUPLES_CHUNK * TUPLES_CHUNKS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(full_ring_refuses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(two_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hostile_ring, set_up, tear_down),
        cmocka_unit_test_setup_teardown(records, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
