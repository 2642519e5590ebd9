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

union row {
    struct spool_result row;
    uint8_t bytes[RESULT_ROW_SIZE];
};

static void test_constant(void **state)
{
    union row r = {0};
    struct hotlist_random random;
    (void)state;
    hotlist_random_seed(&random, 1);
    for (unsigned i = 0; i < 100000; i++)
        result_add_as(&r.row, 42, &random);
    assert_int_equal(r.row.list.observed, 100000);
    assert_int_equal(r.row.list.count, 1);
    assert_int_equal(r.row.list.steps, 0);
    assert_int_equal(r.row.list.entries[0].count, 100000);
}

/* Sixteen values fit: all counts are exact, and the most frequent one comes first. */
static void test_few(void **state)
{
    union row r = {0};
    struct hotlist_random random;
    uint64_t sum = 0;
    (void)state;
    hotlist_random_seed(&random, 2);
    for (uint64_t i = 0; i < 32000; i++)
        result_add_as(&r.row, i % 2 ? 7 : 100 + i / 2 % 15, &random);
    assert_int_equal(r.row.list.steps, 0);
    assert_int_equal(r.row.list.count, 16);
    assert_int_equal(r.row.list.entries[0].bits, 7);
    assert_int_equal(r.row.list.entries[0].count, 16000);
    for (uint32_t i = 0; i < r.row.list.count; i++)
        sum += r.row.list.entries[i].count;
    assert_int_equal(sum, 32000);
}

/* C[v] / p over many streams in which one value is a fifth and all others come once. */
static void test_unbiased(void **state)
{
    enum { STREAMS = 400, LENGTH = 20000 };
    double sum = 0, squares = 0;
    (void)state;
    for (uint64_t seed = 0; seed < STREAMS; seed++) {
        union row r = {0};
        struct hotlist_random random;
        hotlist_random_seed(&random, seed);
        for (uint64_t i = 0; i < LENGTH; i++)
            result_add_as(&r.row, i % 5 ? 1000 + i : 7, &random);
        struct hotlist_entry *entry = hotlist_find(&r.row.list, (struct hotlist_value){.bits = 7});
        double estimate = entry ? (double)entry->count / hotlist_probability(&r.row.list) : 0;
        assert_true(hotlist_check(&r.row.list, HOTLIST_CONCISE));
        sum += estimate;
        squares += estimate * estimate;
    }
    double mean = sum / STREAMS, error = sqrt((squares / STREAMS - mean * mean) / STREAMS);
    assert_true(error < LENGTH / 5.0 * 0.05);
    assert_true(fabs(mean - LENGTH / 5.0) < 4 * error);
}

/* So long a stream that gaps are cut: what is kept still stands for all there was. */
static void test_long_gaps(void **state)
{
    enum { STREAMS = 40, LENGTH = 1000000 };
    double sum = 0, squares = 0;
    (void)state;
    for (uint64_t seed = 0; seed < STREAMS; seed++) {
        union row r = {0};
        struct hotlist_random random;
        uint64_t kept = 0;
        hotlist_random_seed(&random, seed);
        for (uint64_t i = 0; i < LENGTH; i++)
            result_add_as(&r.row, i, &random);
        for (uint32_t k = 0; k < r.row.list.count; k++)
            kept += r.row.list.entries[k].count;
        double p = hotlist_probability(&r.row.list), estimate = (double)kept / p;
        assert_true(p < 1.0 / 4096);
        assert_int_equal(r.row.list.observed, LENGTH);
        sum += estimate;
        squares += estimate * estimate;
    }
    double mean = sum / STREAMS, error = sqrt((squares / STREAMS - mean * mean) / STREAMS);
    assert_true(fabs(mean - LENGTH) < 4 * error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constant),
        cmocka_unit_test(test_few),
        cmocka_unit_test(test_unbiased),
        cmocka_unit_test(test_long_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
