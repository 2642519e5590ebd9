/* Rows of results: what is passed over is not lost to the estimate, which stays unbiased; and what is simple is
 * exact. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/hotlist.h"
#include "sigsafe/spool_results.h"

struct row {
    struct result_lead lead;
    struct hotlist_random random;
    union {
        struct spool_result row;
        uint8_t bytes[RESULT_ROW_SIZE];
    };
};

static void add(struct row *r, uint64_t value)
{
    result_add_as(&r->lead, &r->row, value, UINT64_MAX, &r->random);
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
    assert_true(result_copy(&copy, &r.lead, &r.row));
    assert_int_equal(copy.list.observed, 100000);
    assert_int_equal(copy.list.count, 1);
    assert_int_equal(copy.list.steps, 0);
    assert_int_equal(copy.list.entries[0].bits, 42);
    assert_int_equal(copy.list.entries[0].count, 100000);
}

/* Only what the instruction writes is its result. */
static void test_widths(void **state)
{
    static const struct { uint64_t mask, bits; } forms[] = {
        { 0xff, 0x44 }, { 0xff00, 0x33 }, { 0xffff, 0x3344 }, { UINT32_MAX, 0x11223344 }, { UINT64_MAX, 0x11223344 },
    };
    (void)state;
    for (unsigned i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct row r = row_new(1);
        uint64_t mask = forms[i].mask, others = ~mask & 0x5a5a5a5a5a5a5a5a;
        for (unsigned k = 0; k < 10; k++)
            result_add_as(&r.lead, &r.row, k % 2 ? 0x11223344 : (0x11223344 & mask) | others, mask, &r.random);
        assert_int_equal(r.lead.seen, 10);
        assert_int_equal(r.row.list.count, 1);
        assert_int_equal(r.row.list.entries[0].bits, forms[i].bits);
        assert_int_equal(r.row.list.entries[0].count, 1);
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
        assert_true(result_copy(&copy, &r.lead, &r.row));
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

/* C[v] / p over many streams in which one value is a fifth and all others come once; single and in runs. */
static void check_unbiased(unsigned run)
{
    enum { STREAMS = 400, LENGTH = 20000 };
    double sum = 0, squares = 0;
    for (uint64_t seed = 0; seed < STREAMS; seed++) {
        struct row r = row_new(seed);
        union result_list copy;
        for (uint64_t i = 0; i < LENGTH; i++)
            add(&r, i / run % 5 ? 1000 + i : 7);
        assert_true(result_copy(&copy, &r.lead, &r.row));
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

/* A stream whose p becomes so small that gaps are drawn digit by digit: what is kept still stands for all there was. */
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
        assert_true(result_copy(&copy, &r.lead, &r.row));
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
        assert_true(result_copy(&copy, &r.lead, &r.row));
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
        assert_true(fabs(above / DRAWN - expected) <= 4 * sqrt(expected * (1 - expected) / DRAWN) + 1e-12);
    }
}

/* A thread that is killed between any two stores leaves a hotlist, which lacks nothing that was seen. Here: after
 * `settled` was stored, and before the entry was. */
static void test_killed(void **state)
{
    struct row r = row_new(3);
    union result_list copy;
    (void)state;
    for (unsigned i = 0; i < 50; i++)
        add(&r, 1);
    for (unsigned i = 0; i < 50; i++)
        add(&r, 2);
    r.row.settled = r.lead.seen + 1;
    assert_true(result_copy(&copy, &r.lead, &r.row));
    assert_true(hotlist_check(&copy.list, HOTLIST_CONCISE));
    assert_int_equal(sum_of(&copy.list), 100);
    assert_int_equal(hotlist_find(&copy.list, (struct hotlist_value){.bits = 2})->count, 50);
    r.row.list.count = HOTLIST_CONCISE_MAX + 2;
    assert_false(result_copy(&copy, &r.lead, &r.row));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constant),
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_few),
        cmocka_unit_test(test_unbiased),
        cmocka_unit_test(test_long_gaps),
        cmocka_unit_test(test_short_gaps),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
