/* The module's process's side of the rings: synthetic rings in, what the module sees and what is
 * kept out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "modules/host.h"
#include "sigsafe/key.h"
#include "sigsafe/spool_counts.h"

enum { SPOOL_SIZE = 64 << 20, PC = 0x400000, STEP = 16, VALUE = 0x1000 };

/* ---- a module that notes what it sees ---- */

static struct seen {
    uint64_t pc, value, return_address;
    uint32_t count, process, thread;
    bool called;
} seen[64];
static uint32_t seen_count, sequences_seen;

static uint32_t capture(const struct penumbra_opcode *opcode)
{
    return opcode->opcode == 0x89 ? PENUMBRA_RESULT : 0;
}

static void sequence(struct penumbra_host *host, const struct penumbra_sequence *s)
{
    sequences_seen++;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct penumbra_tuple *t = &s->tuples[i];
        struct seen *to = &seen[seen_count++ % 64];
        *to = (struct seen){.pc = t->pc, .return_address = t->return_address, .count = t->count,
                            .process = (uint32_t)s->process, .thread = (uint32_t)s->thread,
                            .called = t->called};
        to->value = t->count ? t->items[t->count - 1].value : 0;
        penumbra_emit(host, t->pc, 0, 0, to->value);
    }
}

static const struct penumbra_kind kinds[] = {{.name = "value"}};
static const struct penumbra_module module =
    {.abi = PENUMBRA_MODULE_ABI, .size = sizeof module, .name = "notes",
                                              .kinds = kinds, .kind_count = 1, .capture = capture,
                                              .sequence = sequence};

/* ---- a program that has a process, a ring, and records of instructions ---- */

struct fixture {
    struct spool spool;
    struct spool_tuples *tuples;
    struct tuple_ring *ring;
    struct penumbra_host *host;
};

static void *add(struct fixture *f, size_t size)
{
    void *at = spool_alloc_as(&f->spool, size);
    assert_non_null(at);
    return at;
}

static int set_up(void **state)
{
    static struct fixture fixture;
    struct fixture *f = &fixture;
    struct err e = {0};
    spool_ref table;
    memset(f, 0, sizeof *f);
    memset(seen, 0, sizeof seen);
    seen_count = sequences_seen = 0;
    f->spool.mapped = SPOOL_SIZE;
    f->spool.base = mmap(NULL, SPOOL_SIZE, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(f->spool.base, MAP_FAILED);
    struct spool_header *h = spool_header(&f->spool);
    h->size = h->limit = SPOOL_SIZE;
    h->next = SPOOL_HEADER_SIZE;
    f->host = host_new(&f->spool, &module, &(struct host_options){.seed = 1}, &table, &e);
    assert_non_null(f->host);
    const struct tuple_capture *c = spool_at(&f->spool, table, sizeof *c);
    assert_int_equal(c->what[0][0x89][0], PENUMBRA_RESULT);
    assert_int_equal(c->what[0][0x8b][0], 0);
    struct spool_process *p = add(f, sizeof *p);
    struct spool_counts *counts = add(f, sizeof *counts);
    p->pid = 77;
    p->counts = spool_ref_of(&f->spool, counts);
    spool_push_as(&f->spool, &h->processes, p);
    f->tuples = tuples_begin_as(&f->spool, counts);
    f->ring = tuples_ring_make_as(&f->spool, f->tuples, 78, TUPLE_RING_BURST);
    assert_non_null(f->ring);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    host_free(f->host);
    return munmap(f->spool.base, SPOOL_SIZE);
}

/* The record of an instruction whose result is captured; its id. */
static uint32_t record(struct fixture *f, const char *code)
{
    uint32_t id;
    struct tuple_insn *r = tuples_insn_make_as(&f->spool, f->tuples, &id);
    assert_non_null(r);
    r->address = PC + (uint64_t)STEP * id;
    r->key = key_make(0, r->address);
    memcpy(r->bytes, code, strlen(code));
    r->values[0] = (struct tuple_value){.what = TUPLE_RESULT, .bytes = 8};
    r->count = 1;
    r->length = (uint8_t)strlen(code);
    return id;
}

static void drain(struct fixture *f)
{
    while (host_drain(f->host))
        ;
}

/* A sequence of these instructions, each with a value; false: the ring has no room for `most`
 * words. */
static bool put(struct fixture *f, const uint32_t *ids, uint32_t count, uint32_t most,
                uint64_t value)
{
    if (!tuples_reserve_as(&f->spool, f->ring, most))
        return false;
    uint64_t at = f->ring->cursor.begin;
    struct tuple_sequence *s = (void *)tuples_word_as(&f->spool, f->ring, at);
    *s = (struct tuple_sequence){
        .count = (uint16_t)count, .tid = 78, .return_address = 0x1234, .every = 1};
    at += sizeof *s;
    for (uint32_t i = 0; i < count; i++, at += 16) {
        *(struct tuple_head *)(void *)tuples_word_as(&f->spool, f->ring, at) =
            (struct tuple_head){.id = ids[i], .count = 1};
        *tuples_word_as(&f->spool, f->ring, at + 8) = value + i;
    }
    tuples_publish_as(&f->spool, f->ring, at);
    return true;
}

enum { THREE_WORDS = TUPLE_SEQUENCE_WORDS + 3 * 2 };

/* What was put into the ring is what the module sees, once, and what it says of it is in the
 * hotlists. */
static void sequences(void **state)
{
    struct fixture *f = *state;
    const uint32_t ids[] = {record(f, "\x48\x89\xd8"), record(f, "\xe8\x10\x20\x30\x40"),
                            record(f, "\x48\x89\xd8")};
    assert_false(host_drain(f->host));
    assert_true(put(f, ids, 3, THREE_WORDS, VALUE));
    assert_true(host_drain(f->host));
    assert_false(host_drain(f->host));
    assert_int_equal(seen_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(seen[i].pc, PC + STEP * ids[i]);
        assert_int_equal(seen[i].count, 1);
        assert_int_equal(seen[i].value, VALUE + i);
        assert_int_equal(seen[i].process, 77);
        assert_int_equal(seen[i].thread, 78);
        /* The second calls: the third is in what it called. */
        assert_int_equal(seen[i].return_address, i < 2 ? 0x1234 : PC + STEP * ids[1] + 5);
    }
    const struct spool_values *v = host_values(f->host);
    assert_int_equal(v->sequences, 1);
    assert_int_equal(v->tuples, 3);
    assert_int_equal(v->refused, 0);
    const struct spool_hotlists *chunk = spool_at(&f->spool, v->chunks, sizeof *chunk);
    assert_int_equal(chunk->count, 3);
}

static spool_ref other_process(struct fixture *f, int32_t pid)
{
    struct spool_process *p = add(f, sizeof *p);
    p->pid = pid;
    spool_push_as(&f->spool, &spool_header(&f->spool)->processes, p);
    return spool_ref_of(&f->spool, p);
}

/* One ring for several processes: a sequence is whose it says. What is in the kernel is in one
 * hotlist, and what is in no image in one for each process. */
static void others(void **state)
{
    struct fixture *f = *state;
    const uint32_t ids[] = {record(f, "\x48\x89\xd8"), record(f, "\x48\x89\xd8")};
    struct tuple_insn *kernel = tuples_insn_at(&f->spool, f->tuples, ids[1]);
    const spool_ref processes[] = {0, other_process(f, 80), other_process(f, 81)};
    kernel->address = UINT64_C(0xffffffff81000000);
    kernel->key = key_make(0, kernel->address);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(put(f, ids, 2, THREE_WORDS, VALUE));
        struct tuple_sequence *s =
            (void *)tuples_word_as(&f->spool, f->ring, f->ring->cursor.begin);
        s->process = processes[i];
    }
    drain(f);
    assert_int_equal(seen_count, 6);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(seen[i].process, i < 2 ? 77 : i < 4 ? 80 : 81);
    const struct spool_values *v = host_values(f->host);
    const struct spool_hotlists *chunk = spool_at(&f->spool, v->chunks, sizeof *chunk);
    assert_int_equal(chunk->count, 4);
    /* of nobody: there is no such process */
    assert_true(put(f, ids, 2, THREE_WORDS, VALUE));
    struct tuple_sequence *s = (void *)tuples_word_as(&f->spool, f->ring, f->ring->cursor.begin);
    s->process = processes[1] + 1;
    drain(f);
    assert_int_equal(seen_count, 6);
    assert_int_equal(v->refused, 1);
}

/* Many times around the ring: nothing is lost, and where there is no room it is said before
 * anything is written. */
static void around(void **state)
{
    struct fixture *f = *state;
    const uint32_t ids[] = {record(f, "\x48\x89\xd8"), record(f, "\x48\x89\xd8"),
                            record(f, "\x48\x89\xd8")};
    uint32_t told = 0, full = 0;
    while (told < 5000) {
        if (put(f, ids, 1 + told % 3, THREE_WORDS, told)) {
            told++;
            continue;
        }
        full++;
        drain(f);
        assert_int_equal(sequences_seen, told);
    }
    drain(f);
    assert_int_equal(sequences_seen, 5000);
    assert_true(full > 0);
}

/* The consumer is woken before there is no room any more, also for the longest sequences, wherever
 * the ring ends. */
static void bell(void **state)
{
    struct fixture *f = *state;
    const uint32_t ids[] = {record(f, "\x48\x89\xd8"), record(f, "\x48\x89\xd8"),
                            record(f, "\x48\x89\xd8")};
    const uint32_t *rung = &spool_header(&f->spool)->tuples_bell;
    for (uint32_t round = 0; round < 300; round++) {
        uint32_t before = *rung, put_count = 0;
        while (put(f, ids, 1 + round % 3, TUPLE_SEQUENCE_WORDS_MAX, round))
            put_count++;
        assert_true(put_count > 0);
        assert_int_equal(*rung, before + 1);
        drain(f);
    }
}

/* What cannot be true is not shown to the module, and does not stay in the way. */
static void damaged(void **state)
{
    struct fixture *f = *state;
    const uint32_t ids[] = {record(f, "\x48\x89\xd8"), record(f, "\x48\x89\xd8")},
                   unknown[] = {4711, ids[0]};
    assert_true(put(f, unknown, 2, THREE_WORDS, VALUE));
    drain(f);
    assert_int_equal(sequences_seen, 0);
    assert_int_equal(host_values(f->host)->refused, 1);
    for (unsigned way = 0; way < 4; way++) {
        assert_true(put(f, ids, 2, THREE_WORDS, VALUE));
        struct tuple_sequence *s =
            (void *)tuples_word_as(&f->spool, f->ring, f->ring->cursor.begin);
        switch (way) {
        case 0: s->words = 0; break;
        case 1: s->words = UINT32_MAX; break;
        case 2: s->count++; break; /* of words that are not there */
        default: f->ring->head += f->ring->size; break;
        }
        drain(f);
        assert_int_equal(sequences_seen, 0);
        assert_int_equal(f->ring->tail, f->ring->head);
    }
    assert_true(put(f, ids, 2, THREE_WORDS, VALUE));
    drain(f);
    assert_int_equal(sequences_seen, 1);
    f->ring->size = 100; /* no power of two */
    f->ring->head += 8;
    drain(f);
    f->ring->data = UINT32_MAX;
    f->ring->head += 8;
    drain(f);
    assert_int_equal(sequences_seen, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sequences, set_up, tear_down),
        cmocka_unit_test_setup_teardown(others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(around, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bell, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
