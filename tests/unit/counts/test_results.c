/* Rows of results: what is passed over is not lost to the estimate, which stays unbiased; and what
 * is simple is exact. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#include <cmocka.h>

#include "profile/hotlist.h"
#include "../profile/lead.h"

struct row {
    struct counts_lead lead;
    struct result_front front;
    struct hotlist_random random;
    union {
        struct spool_result row;
        uint8_t bytes[RESULT_ROW_SIZE + 1]; /* the last is the next row's */
    };
};

static void add(struct row *r, uint64_t value)
{
    result_add(&r->lead, &r->front, &r->row, value, &r->random);
}

static struct row row_new(uint64_t seed)
{
    struct row r = {0};
    hotlist_random_seed(&r.random, seed);
    return r;
}

static uint64_t sum_of(const struct hotlist *list)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < list->count; i++)
        sum += list->entries[i].count;
    return sum;
}

static void test_constant(void **state)
{
    struct row r = row_new(1);
    union result_list copy;
    (void)state;
    for (unsigned i = 0; i < 100000; i++)
        add(&r, 42);
    assert_true(result_copy(&copy, r.lead, &r.front, &r.row, false));
    assert_int_equal(copy.list.observed, 100000);
    assert_int_equal(copy.list.count, 1);
    assert_int_equal(copy.list.steps, 0);
    assert_int_equal(copy.list.entries[0].bits, 42);
    assert_int_equal(copy.list.entries[0].count, 100000);
}

/* What was never drawn is zero: that is what leads begin with. */
static void test_zeroes(void **state)
{
    struct row r = row_new(1);
    union result_list copy;
    (void)state;
    assert_true(result_copy(&copy, r.lead, &r.front, &r.row, false));
    assert_int_equal(copy.list.observed, 0);
    for (unsigned i = 0; i < 1000; i++)
        add(&r, 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(result_copy(&copy, r.lead, &r.front, &r.row, false));
        assert_int_equal(copy.list.observed, 1000 + i);
        assert_int_equal(copy.list.count, 1 + i);
        assert_int_equal(hotlist_find(&copy.list, (struct hotlist_value){.bits = 0})->count, 1000);
        add(&r, 5);
    }
}

/* What has eight values is counted in the front alone, 0 among them. */
static void test_front_only(void **state)
{
    (void)state;
    for (uint64_t first = 0; first < 2; first++) {
        struct row r = row_new(1);
        union result_list copy;
        for (uint64_t i = 0; i < 700; i++) {
            add(&r, first + i % 8);
            assert_true(result_copy(&copy, r.lead, &r.front, &r.row, false));
            assert_int_equal(copy.list.observed, i + 1);
            assert_int_equal(sum_of(&copy.list), i + 1);
        }
        assert_int_equal(r.row.list.count, 0);
        assert_int_equal(copy.list.count, 8);
        for (uint64_t i = 0; i < 8; i++)
            assert_in_range(
                hotlist_find(&copy.list, (struct hotlist_value){.bits = first + i})->count, 700 / 8,
                700 / 8 + 1);
    }
}

/* Sixteen values fit: all counts are exact, at any time, and the more frequent ones come first. */
static void test_few(void **state)
{
    struct row r = row_new(2);
    union result_list copy;
    (void)state;
    for (uint64_t i = 0; i < 32000; i++) {
        add(&r, i % 4 ? 7 : 100 + i / 4 % 15);
        assert_true(result_copy(&copy, r.lead, &r.front, &r.row, false));
        assert_int_equal(copy.list.observed, i + 1);
        assert_int_equal(sum_of(&copy.list), i + 1);
    }
    assert_int_equal(copy.list.steps, 0);
    assert_int_equal(copy.list.count, 16);
    assert_int_equal(copy.list.entries[0].bits, 7);
    assert_int_equal(copy.list.entries[0].count, 24000);
    for (uint32_t i = 1; i < copy.list.count; i++)
        assert_in_range(copy.list.entries[i].count, 8000 / 15, 8000 / 15 + 1);
}

/* C[v] / p over many streams in which one value is a fifth and all others come once; single and in
 * runs. */
static void check_unbiased(unsigned run)
{
    enum { STREAMS = 400, LENGTH = 20000 };
    double sum = 0, squares = 0;
    for (uint64_t seed = 0; seed < STREAMS; seed++) {
        struct row r = row_new(seed);
        union result_list copy;
        for (uint64_t i = 0; i < LENGTH; i++)
            add(&r, i / run % 5 ? 1000 + i : 7);
        assert_true(result_copy(&copy, r.lead, &r.front, &r.row, false));
        struct hotlist_entry *entry = hotlist_find(&copy.list, (struct hotlist_value){.bits = 7});
        double estimate = entry ? (double)entry->count / hotlist_probability(&copy.list) : 0;
        assert_true(hotlist_check(&copy.list, HOTLIST_CONCISE));
        sum += estimate;
        squares += estimate * estimate;
    }
    double mean = sum / STREAMS, error = sqrt((squares / STREAMS - mean * mean) / STREAMS);
    assert_true(error < LENGTH / 5.0 * 0.05);
    assert_true(fabs(mean - LENGTH / 5.0) < 4 * error);
}

static void test_unbiased(void **state)
{
    (void)state;
    check_unbiased(1);
    check_unbiased(100);
}

/* A stream whose p becomes so small that gaps are drawn digit by digit: what is kept still stands
 * for all there was. */
static void test_long_gaps(void **state)
{
    enum { STREAMS = 40, LENGTH = 1000000 };
    double sum = 0, squares = 0;
    (void)state;
    for (uint64_t seed = 0; seed < STREAMS; seed++) {
        struct row r = row_new(seed);
        union result_list copy;
        for (uint64_t i = 0; i < LENGTH; i++)
            add(&r, i);
        assert_true(result_copy(&copy, r.lead, &r.front, &r.row, false));
        double p = hotlist_probability(&copy.list), estimate = (double)sum_of(&copy.list) / p;
        assert_true(p < 1.0 / 4096);
        assert_int_equal(copy.list.observed, LENGTH);
        sum += estimate;
        squares += estimate * estimate;
    }
    double mean = sum / STREAMS, error = sqrt((squares / STREAMS - mean * mean) / STREAMS);
    assert_true(fabs(mean - LENGTH) < 4 * error);
}

/* Where p is hardly below 1, one result more or less in a gap would show. */
static void test_short_gaps(void **state)
{
    enum { STREAMS = 4000, LENGTH = 200, VALUES = 20 };
    double sum = 0, squares = 0;
    (void)state;
    for (uint64_t seed = 0; seed < STREAMS; seed++) {
        struct row r = row_new(seed);
        union result_list copy;
        for (uint64_t i = 0; i < LENGTH; i++)
            add(&r, i % VALUES);
        assert_true(result_copy(&copy, r.lead, &r.front, &r.row, false));
        assert_true(copy.list.steps > 0);
        double estimate = (double)sum_of(&copy.list) / hotlist_probability(&copy.list);
        sum += estimate;
        squares += estimate * estimate;
    }
    double mean = sum / STREAMS, error = sqrt((squares / STREAMS - mean * mean) / STREAMS);
    assert_true(error < LENGTH * 0.01);
    assert_true(fabs(mean - LENGTH) < 4 * error);
}

/* Gaps are geometric: mean q / p, and longer than k with probability q^(k + 1). */
static void test_gaps(void **state)
{
    enum { DRAWN = 100000 };
    static const uint32_t steps[] = { 0, 1, 20, 33, 60, 150 };
    struct hotlist_random random;
    (void)state;
    hotlist_random_seed(&random, 5);
    for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct hotlist list = {.steps = steps[i]};
        double p = hotlist_probability(&list), mean = (1 - p) / p, sum = 0;
        double k = floor(mean), above = 0, expected = pow(1 - p, k + 1);
        for (unsigned n = 0; n < DRAWN; n++) {
            double gap = (double)hotlist_draw_gap(&list, &random);
            sum += gap;
            above += gap > k;
        }
        assert_true(fabs(sum / DRAWN - mean) <= 4 * sqrt(1 - p) / p / sqrt(DRAWN));
        assert_true(fabs(above / DRAWN - expected) <=
                    4 * sqrt(expected * (1 - expected) / DRAWN) + 1e-12);
    }
}

/* An instruction that takes many values at first, and then one for good: that one is never drawn
 * again, and yet it is known how often it came. */
static void test_one_for_good(void **state)
{
    enum { STREAMS = 200, MANY = 1000, RUN = 1000000 };
    double sum = 0, squares = 0;
    (void)state;
    for (uint64_t seed = 0; seed < STREAMS; seed++) {
        struct row r = row_new(seed);
        union result_list copy;
        for (uint64_t i = 0; i < MANY; i++)
            add(&r, 1000 + i);
        add(&r, 7);
        while (r.lead.left >= 0)
            add(&r, 7);
        add(&r, 7);
        int64_t before = r.lead.left;
        r.lead.left -= RUN;
        assert_true(before < 0 && result_copy(&copy, r.lead, &r.front, &r.row, false));
        struct hotlist_entry *entry = hotlist_find(&copy.list, (struct hotlist_value){.bits = 7});
        assert_non_null(entry);
        double estimate = (double)entry->count / hotlist_probability(&copy.list) -
                          (double)(copy.list.observed - MANY - RUN);
        sum += estimate;
        squares += estimate * estimate;
    }
    double mean = sum / STREAMS, error = sqrt((squares / STREAMS - mean * mean) / STREAMS);
    assert_true(fabs(mean - RUN) < 4 * error);
    assert_true(error < RUN * 0.01);
}

/* Few values come without end, and no more are kept than there is use for: p falls, nothing is lost
 * to the estimate, and nearly all are passed over. */
static void test_bounded(void **state)
{
    enum { STREAMS = 200, LENGTH = 200000, MOST = 1024, PERIOD = 5 };
    double sum = 0, squares = 0;
    (void)state;
    for (uint64_t seed = 0; seed < STREAMS; seed++) {
        struct row r = row_new(seed);
        union result_list copy;
        unsigned looked = 0;
        for (uint64_t i = 0; i < LENGTH; i++) {
            looked += r.lead.left <= 0;
            result_add_most(&r.lead, &r.front, &r.row, i % PERIOD ? i % 2 : 7, MOST, &r.random);
            assert_in_range(sum_of(&r.row.list), 0, MOST);
        }
        assert_in_range(looked, 1, LENGTH / 10);
        assert_true(result_copy(&copy, r.lead, &r.front, &r.row, false));
        assert_int_equal(copy.list.observed, LENGTH);
        assert_int_equal(copy.list.count, 3);
        double p = hotlist_probability(&copy.list);
        assert_true(p < 0.02);
        double estimate =
            (double)hotlist_find(&copy.list, (struct hotlist_value){.bits = 7})->count / p;
        sum += estimate;
        squares += estimate * estimate;
    }
    double mean = sum / STREAMS, error = sqrt((squares / STREAMS - mean * mean) / STREAMS);
    assert_true(error < LENGTH / 5.0 * 0.02);
    assert_true(fabs(mean - LENGTH / 5.0) < 4 * error);
}

/* Where a row is thinned for the first time, what two values as frequent as each other have left
 * differs by the rounding: by coins it would by some fourteen. */
static void test_thinned_evenly(void **state)
{
    enum { MOST = 1024 };
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct row r = row_new(seed);
        for (uint64_t i = 0; !r.row.list.steps; i++)
            result_add_most(&r.lead, &r.front, &r.row, i % 2 ? 7 : 8, MOST, &r.random);
        assert_int_equal(r.row.list.count, 2);
        int64_t first = (int64_t)r.row.list.entries[0].count,
                second = (int64_t)r.row.list.entries[1].count;
        assert_true(first + second > RESULT_LEAST / 4);
        assert_in_range(first > second ? first - second : second - first, 0, 2);
    }
}

/* A thread that is killed between any two stores leaves a hotlist, which may lack results of the
 * last moment. */
static void test_killed(void **state)
{
    struct row r = row_new(3);
    union result_list copy;
    (void)state;
    for (unsigned i = 0; i < 50; i++)
        add(&r, 1);
    for (unsigned i = 0; i < 50; i++)
        add(&r, 2);
    assert_true(result_copy(&copy, r.lead, &r.front, &r.row, false));
    assert_int_equal(sum_of(&copy.list), 100);
    assert_int_equal(hotlist_find(&copy.list, (struct hotlist_value){.bits = 2})->count, 50);
    r.row.gap = 30; /* what was passed over is there, and the next gap is not known yet */
    assert_true(result_copy(&copy, (struct counts_lead){1000, 2}, &r.front, &r.row, false));
    assert_true(hotlist_check(&copy.list, HOTLIST_CONCISE));
    assert_in_range(copy.list.observed, r.row.seen, 100);
    r.row.list.count = HOTLIST_CONCISE_MAX + 1;
    assert_true(result_copy(&copy, r.lead, &r.front, &r.row, false));
    r.row.list.count = HOTLIST_CONCISE_MAX + 2;
    assert_false(result_copy(&copy, r.lead, &r.front, &r.row, false));
}

enum { TRAP_FLAG = 0x100 };
static struct row stepped, before; /* as it was when it was looked at last */
static struct {
    uint64_t taken; /* results, the one under way included */
    unsigned states, refused, too_many, unsound, written, lost;
} killed;

/* Whoever is killed here leaves no more than there was; whoever goes on there keeps to the row, and
 * loses nothing but what is passed over before the row knows of it. */
static void killed_here(int signal)
{
    enum { MORE = 60 };
    union result_list copy;
    (void)signal;
    if (!memcmp(&stepped, &before, sizeof before))
        return;
    before = stepped;
    killed.states++;
    struct row r = stepped;
    killed.refused += !result_copy(&copy, r.lead, &r.front, &r.row, false);
    killed.too_many += copy.list.observed > killed.taken;
    uint64_t observed = copy.list.observed, passed = r.lead.left > 0 ? (uint64_t)r.lead.left : 0;
    for (uint64_t i = 0; i < MORE; i++)
        add(&r, i % 3 ? 7 + i % 2 : 5000 + i / 20);
    killed.written += r.bytes[RESULT_ROW_SIZE] != 0;
    killed.refused += !result_copy(&copy, r.lead, &r.front, &r.row, false);
    killed.unsound += !hotlist_check(&copy.list, HOTLIST_CONCISE);
    killed.lost +=
        copy.list.observed + passed < observed + MORE || copy.list.observed > observed + MORE;
}

static void test_killed_anywhere(void **state)
{
    enum { REPEATED = 14, LENGTH = 26 };
    struct sigaction action = {.sa_handler = killed_here}, old;
    (void)state;
    stepped = row_new(5);
    before = stepped;
    assert_int_equal(sigaction(SIGTRAP, &action, &old), 0);
    for (uint64_t i = 0; i < LENGTH; i++) {
        killed.taken++;
        __writeeflags(__readeflags() | TRAP_FLAG);
        add(&stepped, i < REPEATED ? 7 + i / 2 % 6 : 1000 + i);
        __writeeflags(__readeflags() & ~(unsigned long long)TRAP_FLAG);
    }
    sigaction(SIGTRAP, &old, NULL);
    assert_true(stepped.row.list.steps && killed.states > 10 * LENGTH);
    assert_int_equal(killed.refused, 0);
    assert_int_equal(killed.too_many, 0);
    assert_int_equal(killed.unsound, 0);
    assert_int_equal(killed.written, 0);
    assert_int_equal(killed.lost, 0);
}

/* As translated code executes a block with a gate that has one result (src/tools/inline/gate.c,
 * tools/results.c). */
static void execute(struct counts_gate *gate, struct row *r, uint64_t value)
{
    gate->count++;
    if (--gate->left >= 0)
        return;
    if (gate->asked-- == 0) {
        if (result_gate_as(gate, &r->random))
            result_thin(&r->lead, &r->front, &r->row, gate->steps, &r->random);
        if (--gate->left >= 0)
            return;
        gate->asked--;
    }
    result_add_most(&r->lead, &r->front, &r->row, value, RESULT_SAMPLED_MOST, &r->random);
}

/* However long a block is executed, what is kept of it is bounded, and each execution counts the
 * same: the early ones, when more are observed, and the late. `others`: as many values that are not
 * one of the two. */
static void check_gate(uint64_t others)
{
    enum { STREAMS = 200, LENGTH = 120000 };
    double sum[2] = {0}, squares[2] = {0};
    for (uint64_t seed = 0; seed < STREAMS; seed++) {
        struct counts_gate gate = {0};
        struct row r = row_new(seed);
        union result_list copy;
        for (uint64_t i = 0; i < LENGTH; i++)
            execute(&gate, &r, others && i % 2 ? 1000 + i % others : i < LENGTH / 2 ? 7 : 9);
        assert_true(result_copy(&copy, r.lead, &r.front, &r.row, true));
        assert_true(hotlist_check(&copy.list, HOTLIST_CONCISE));
        assert_true(gate.steps > RESULT_GATE_FIRST && copy.list.steps >= gate.steps);
        assert_in_range(copy.list.observed, RESULT_LEAST, LENGTH / 20);
        assert_in_range(sum_of(&copy.list), 1, 2 * RESULT_SAMPLED_MOST);
        for (unsigned half = 0; half < 2; half++) {
            struct hotlist_entry *entry =
                hotlist_find(&copy.list, (struct hotlist_value){.bits = half ? 9 : 7});
            double estimate = entry ? (double)entry->count / hotlist_probability(&copy.list) : 0;
            sum[half] += estimate;
            squares[half] += estimate * estimate;
        }
    }
    for (unsigned half = 0; half < 2; half++) {
        double mean = sum[half] / STREAMS,
               error = sqrt((squares[half] / STREAMS - mean * mean) / STREAMS);
        double right = others ? LENGTH / 4.0 : LENGTH / 2.0;
        assert_true(error < right * 0.05);
        assert_true(fabs(mean - right) < 4 * error);
    }
}

static void test_gate(void **state)
{
    (void)state;
    check_gate(0);
    check_gate(5);
    check_gate(400);
}

/* Who is killed while rows are thinned leaves one that can be read and gone on with. */
static void test_killed_while_thinned(void **state)
{
    enum { LENGTH = 2000 };
    struct sigaction action = {.sa_handler = killed_here}, old;
    (void)state;
    for (uint64_t values = 1; values < 40; values += 6) {
        stepped = row_new(values);
        memset(&killed, 0, sizeof killed);
        for (uint64_t i = 0; i < LENGTH; i++)
            add(&stepped, i % values);
        before = stepped;
        killed.taken = LENGTH;
        assert_int_equal(sigaction(SIGTRAP, &action, &old), 0);
        __writeeflags(__readeflags() | TRAP_FLAG);
        result_thin(&stepped.lead, &stepped.front, &stepped.row, RESULT_GATE_FIRST + 11,
                    &stepped.random);
        __writeeflags(__readeflags() & ~(unsigned long long)TRAP_FLAG);
        sigaction(SIGTRAP, &old, NULL);
        assert_true(stepped.row.base == 11 && stepped.row.list.steps >= 11 && killed.states > 3);
        assert_int_equal(killed.refused + killed.too_many + killed.unsound + killed.written, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constant),
        cmocka_unit_test(test_zeroes),
        cmocka_unit_test(test_front_only),
        cmocka_unit_test(test_few),
        cmocka_unit_test(test_unbiased),
        cmocka_unit_test(test_long_gaps),
        cmocka_unit_test(test_short_gaps),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_one_for_good),
        cmocka_unit_test(test_bounded), cmocka_unit_test(test_thinned_evenly),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_killed_anywhere),
        cmocka_unit_test(test_gate),
        cmocka_unit_test(test_killed_while_thinned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
