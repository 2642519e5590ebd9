/* The metrics of accuracy: numbers computed by hand, and what must hold of all profiles. */
#include "profile/compare.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) < 1e-9))
        fail_msg("%.12f is not %.12f", value, expected);
}

static struct compare_metrics compare(const struct compare_entry *entries, size_t count)
{
    struct err e = {0};
    struct compare_metrics m;
    if (!compare_entries(entries, count, &m, &e))
        fail_msg("%s", e.message);
    return m;
}

/* Perfect 50 30 15 5 of 100, sampled 4 4 0 1 1 of 10. */
static void by_hand(void **state)
{
    (void)state;
    static const struct compare_entry entries[] = {{50, 4}, {30, 4}, {15, 0}, {5, 1}, {0, 1}};
    struct compare_metrics m = compare(entries, 5);
    assert_near(m.overlap, 0.4 + 0.3 + 0 + 0.05);
    /* 90% take the first three, which make 95%: (0.4 + 0.3 + 0) / 0.95. */
    assert_near(m.overlap_90, 0.7 / 0.95);
    assert_near(m.distortion, 0.1 + 0.1 + 0.15 + 0.05 + 0.1);
    /* 5% of four entries is one; the first of the two that have 4 is the same one. */
    assert_near(m.weight_match, 1);
    assert_int_equal(m.entries_perfect, 4);
    assert_int_equal(m.entries_sampled, 4);
    assert_int_equal(m.entries_common, 3);
}

/* Of 40 entries the top 5% are two: 100 and 60. The sampled profile's top two are 100 and
 * another. */
static void weight_match_by_hand(void **state)
{
    (void)state;
    struct compare_entry entries[40];
    for (int i = 0; i < 40; i++)
        entries[i] = (struct compare_entry){1, 1};
    entries[7] = (struct compare_entry){100, 50};
    entries[9] = (struct compare_entry){60, 2};
    entries[30].sampled = 70;
    assert_near(compare(entries, 40).weight_match, 100.0 / 160);
    /* A 41st entry makes it three: half of the top is not dropped. */
    entries[30].sampled = 1;
    assert_near(compare(entries, 40).weight_match, 1);
}

static void exactly_ninety_percent(void **state)
{
    (void)state;
    /* Ten entries of 10%: nine of them are the top, however the sum is rounded. */
    struct compare_entry entries[10];
    for (int i = 0; i < 10; i++)
        entries[i] = (struct compare_entry){0.1, i == 9 ? 1 : 0};
    struct compare_metrics m = compare(entries, 10);
    assert_near(m.overlap, 0.1);
    assert_near(m.overlap_90, 0);
}

static double random_weight(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1;
    uint64_t r = *state >> 40;
    return r % 3 == 0 ? 0 : (double)(r % 1000) * (double)(r % 17);
}

static void properties(void **state)
{
    (void)state;
    uint64_t seed = 9;
    enum { MOST = 200 };
    struct compare_entry e[MOST], swapped[MOST], same[MOST], apart[2 * MOST], scaled[MOST];
    for (int round = 0; round < 300; round++) {
        size_t n = 1 + (size_t)(round * 7) % MOST;
        for (size_t i = 0; i < n; i++) {
            e[i] = (struct compare_entry){random_weight(&seed), random_weight(&seed)};
            if (i == 0)
                e[i] = (struct compare_entry){1, 2};
            swapped[i] = (struct compare_entry){e[i].sampled, e[i].perfect};
            same[i] = (struct compare_entry){e[i].perfect, e[i].perfect};
            scaled[i] = (struct compare_entry){e[i].perfect, e[i].perfect * 0.125};
            apart[2 * i] = (struct compare_entry){e[i].perfect, 0};
            apart[2 * i + 1] = (struct compare_entry){0, e[i].sampled};
        }
        struct compare_metrics m = compare(e, n), s = compare(swapped, n), i = compare(same, n);
        struct compare_metrics a = compare(apart, 2 * n), c = compare(scaled, n);
        assert_near(i.overlap, 1);
        assert_near(i.overlap_90, 1);
        assert_near(i.weight_match, 1);
        assert_near(i.distortion, 0);
        assert_near(c.overlap, 1);
        assert_near(c.overlap_90, 1);
        assert_near(c.weight_match, 1);
        assert_near(a.overlap, 0);
        assert_near(a.overlap_90, 0);
        assert_near(a.weight_match, 0);
        assert_near(a.distortion, 2);
        assert_near(m.overlap, s.overlap);
        assert_near(m.distortion, s.distortion);
        /* What two distributions do not share, each has on its own. */
        assert_near(m.overlap, 1 - m.distortion / 2);
        assert_true(m.overlap_90 >= 0 && m.overlap_90 <= 1);
        assert_true(m.weight_match >= 0 && m.weight_match <= 1);
    }
}

static void empty_profiles_are_refused(void **state)
{
    (void)state;
    static const struct compare_entry no_perfect[] = {{0, 1}}, no_sampled[] = {{3, 0}};
    struct compare_metrics m;
    struct err a = {0}, b = {0}, c = {0};
    assert_false(compare_entries(no_perfect, 1, &m, &a));
    assert_int_equal(a.code, ERR_USAGE);
    assert_non_null(strstr(a.message, "the perfect profile"));
    assert_false(compare_entries(no_sampled, 1, &m, &b));
    assert_non_null(strstr(b.message, "the sampled profile"));
    assert_false(compare_entries(NULL, 0, &m, &c));
}

static void invariance_by_hand(void **state)
{
    (void)state;
    static const struct compare_value values[] = {
        {300, 0.9, 0.8}, {100, 0.5, 0.9}, {0, 1, 0} /* not in both */};
    assert_near(compare_values(values, 3), (300 * 0.1 + 100 * 0.4) / 400);
    assert_true(compare_values(values + 2, 1) < 0);
    assert_true(compare_values(NULL, 0) < 0);
}

static void expected_overlap_by_hand(void **state)
{
    (void)state;
    /* One draw of two equal entries has half of the weight; two draws have all of it or half of
     * it. */
    static const struct compare_entry one[] = {{7, 1}, {7, 0}}, two[] = {{7, 1}, {7, 1}, {0, 0}};
    /* Of 1/4 and 3/4, three draws of which k are the first entry. */
    static const struct compare_entry three[] = {{1, 3}, {3, 0}};
    const double min[4] = {0.75, 0.25 + 2.0 / 3, 0.25 + 1.0 / 3, 0.25}, chance[4] = {27, 27, 9, 1};
    double sum = 0;
    for (int k = 0; k < 4; k++)
        sum += chance[k] / 64 * min[k];
    assert_near(compare_expected_overlap(one, 2), 0.5);
    assert_near(compare_expected_overlap(two, 3), 0.75);
    assert_near(compare_expected_overlap(three, 2), sum);
    /* Nothing is left to chance where there is one entry. */
    assert_near(compare_expected_overlap(one, 1), 1);
}

/* Against draws: 400 entries with weights 1 to 400, 5,000 draws. */
static void expected_overlap_is_the_mean(void **state)
{
    (void)state;
    enum { ENTRIES = 400, DRAWS = 5000, ROUNDS = 20 };
    static struct compare_entry entries[ENTRIES];
    static unsigned owner[ENTRIES * (ENTRIES + 1) / 2];
    double mean = 0;
    size_t all = 0;
    uint64_t seed = 3;
    for (unsigned i = 0; i < ENTRIES; i++) {
        entries[i].perfect = i + 1;
        for (unsigned k = 0; k <= i; k++)
            owner[all++] = i;
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < ENTRIES; i++)
            entries[i].sampled = 0;
        for (int i = 0; i < DRAWS; i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1;
            entries[owner[(seed >> 33) % all]].sampled++;
        }
        mean += compare(entries, ENTRIES).overlap / ROUNDS;
    }
    assert_true(fabs(compare_expected_overlap(entries, ENTRIES) - mean) < 0.003);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(weight_match_by_hand),
        cmocka_unit_test(exactly_ninety_percent),
        cmocka_unit_test(properties),
        cmocka_unit_test(empty_profiles_are_refused),
        cmocka_unit_test(invariance_by_hand),
        cmocka_unit_test(expected_overlap_by_hand),
        cmocka_unit_test(expected_overlap_is_the_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
