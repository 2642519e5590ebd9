/* Interpreted instructions: however many there are, those that are known stay so; and one of them
 * has no more than so many records, whatever is known of its values. */
#include "collector/machine/machine_tuples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "sigsafe/spool_counts.h"

enum { SPOOL_SIZE = 64 << 20, RING = 1 << 20, ARGUMENTS = 7 };

static struct tuple_capture wanted;

static void plans(struct machine_tuples *t, uint64_t first, uint64_t count)
{
    static const uint8_t nop = 0x90;
    enum interpret_end end = INTERPRET_END_COUNT;
    for (uint64_t i = first; i < first + count; i++) {
        struct machine_plan *p = machine_plan_of(t, i, i, &nop, 1, &end);
        assert_non_null(p);
        assert_int_equal(p->full.address, i);
        assert_int_equal(p->full.length, 1);
    }
    assert_int_equal(end, INTERPRET_END_COUNT);
}

static void test_full(void **state)
{
    struct machine_tuples *t = calloc(1, sizeof *t);
    static const uint8_t nop = 0x90;
    enum interpret_end end;
    (void)state;
    t->wanted = &wanted;
    plans(t, 1, MACHINE_PLANS_MOST);
    struct machine_plan *first = machine_plan_of(t, 1, 1, &nop, 1, &end);
    assert_ptr_not_equal(first, &t->spare);
    plans(t, MACHINE_PLANS_MOST + 1, 1000);
    assert_int_equal(t->count, MACHINE_PLANS_MOST);
    assert_ptr_equal(machine_plan_of(t, 1, 1, &nop, 1, &end), first);
    machine_tuples_free(t);
    free(t);
}

/* A spool with a ring for the tuples. */
static void ring_make(struct machine_tuples *t, struct spool *s)
{
    s->mapped = SPOOL_SIZE;
    s->base = mmap(NULL, SPOOL_SIZE, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(s->base, MAP_FAILED);
    struct spool_header *h = spool_header(s);
    h->size = h->limit = SPOOL_SIZE;
    h->next = SPOOL_HEADER_SIZE;
    t->spool = s;
    t->tuples = tuples_begin_as(s, spool_alloc_as(s, sizeof(struct spool_counts)));
    t->ring = tuples_ring_make_as(s, t->tuples, 0, RING);
    assert_non_null(t->ring);
}

/* A system call of whose arguments these are known, each its own number. True: it is in a tuple,
 * whose record says what of them it has. */
static bool call(struct machine_tuples *t, unsigned known)
{
    static const uint8_t code[] = {0x0f, 0x05};
    static const uint8_t arguments[ARGUMENTS] = {X86_RAX, X86_RDI, X86_RSI, X86_RDX,
                                                 X86_R10, X86_R8,  X86_R9};
    static struct interpret_state s;
    enum interpret_end end;
    interpret_begin(&s);
    for (unsigned i = 0; i < ARGUMENTS; i++)
        if (known >> i & 1)
            interpret_register(&s, arguments[i], i);
    assert_true(tuples_reserve_as(t->spool, t->ring, TUPLE_SEQUENCE_WORDS + TUPLE_WORDS_MAX));
    struct tuple_sequence *sequence =
        (void *)tuples_word_as(t->spool, t->ring, t->ring->cursor.begin);
    *sequence = (struct tuple_sequence){0};
    t->ring->cursor.at = t->ring->cursor.begin + sizeof *sequence;
    machine_tuple_begin(t, machine_plan_of(t, 1, 1, code, sizeof code, &end), &s);
    machine_tuple_end(t, &s, false);
    if (!sequence->count)
        return false;
    uint64_t at = t->ring->cursor.begin + sizeof *sequence;
    const struct tuple_head *head = (void *)tuples_word_as(t->spool, t->ring, at);
    const struct tuple_insn *r = tuples_insn_at(t->spool, t->tuples, head->id);
    assert_int_equal(head->count, r->count);
    for (unsigned i = 0; i < r->count; i++) {
        assert_true(known >> r->values[i].index & 1);
        assert_int_equal(*tuples_word_as(t->spool, t->ring, at + 8 + 8 * i), r->values[i].index);
    }
    return true;
}

/* All sets of arguments, in both orders, several times. */
static void check_variants(bool down)
{
    enum { SETS = 1 << ARGUMENTS, TIMES = 3 };
    struct machine_tuples *t = calloc(1, sizeof *t);
    struct spool s = {0};
    unsigned taken = 0;
    t->wanted = &wanted;
    ring_make(t, &s);
    for (unsigned i = 0; i < TIMES * SETS; i++)
        taken += call(t, down ? SETS - 1 - i % SETS : i % SETS);
    assert_int_equal(t->tuples->used, MACHINE_VARIANTS);
    assert_int_equal(taken + t->tuples->dropped[TUPLE_DROP_RECORDS], TIMES * SETS);
    assert_int_equal(t->tuples->dropped[TUPLE_DROP_RECORDS] > 0, down);
    assert_int_equal(t->cut > 0, !down);
    machine_tuples_free(t);
    munmap(s.base, SPOOL_SIZE);
    free(t);
}

static void test_variants(void **state)
{
    (void)state;
    check_variants(false);
    check_variants(true);
}

static int wanted_set(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof wanted.what / sizeof(uint16_t); i++)
        (&wanted.what[0][0][0])[i] = PENUMBRA_SYSTEM_CALL;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_full),
                                       cmocka_unit_test(test_variants)};
    return cmocka_run_group_tests(tests, wanted_set, NULL);
}
