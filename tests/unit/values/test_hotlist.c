/* Hotlists: the estimates are unbiased, whatever the stream; tables behave as their paper says. All
 * seeds are fixed. */
#include "profile/hotlist.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 2 * HOTLIST_TNV_MAX + 1 };

static struct hotlist *make_hotlist(void)
{
    struct hotlist *h = calloc(1, hotlist_size(ROOM));
    assert_non_null(h);
    return h;
}

static struct hotlist_value plain(uint64_t bits)
{
    return (struct hotlist_value){.bits = bits, .space = HOTLIST_PLAIN};
}

static uint64_t count_of(const struct hotlist *h, uint64_t bits)
{
    for (uint32_t i = 0; i < h->count; i++)
        if (h->entries[i].bits == bits && h->entries[i].space == HOTLIST_PLAIN)
            return h->entries[i].count;
    return 0;
}

static double estimate(const struct hotlist *h, uint64_t bits)
{
    return (double)count_of(h, bits) / hotlist_probability(h);
}

static void few_values_are_counted_exactly(void **state)
{
    (void)state;
    struct hotlist *h = make_hotlist();
    struct hotlist_random r;
    hotlist_random_seed(&r, 1);
    for (uint64_t i = 0; i < 1600; i++)
        hotlist_add(h, HOTLIST_CONCISE, plain(i * i % 17 % 16), &r);
    assert_int_equal(h->steps, 0);
    assert_true(hotlist_check(h, HOTLIST_CONCISE));
    uint64_t sum = 0;
    for (uint32_t i = 0; i < h->count; i++)
        sum += h->entries[i].count;
    assert_int_equal(sum, 1600);
    assert_int_equal(h->observed, 1600);
    free(h);
}

static void spaces_are_different_values(void **state)
{
    (void)state;
    struct hotlist *h = make_hotlist();
    struct hotlist_random r;
    hotlist_random_seed(&r, 1);
    hotlist_add(h, HOTLIST_CONCISE, plain(7), &r);
    hotlist_add(h, HOTLIST_CONCISE, (struct hotlist_value){.bits = 7, .space = HOTLIST_IMAGE}, &r);
    assert_int_equal(h->count, 2);
    free(h);
}

/* Streams whose frequencies are known: value v of `values` occurs weights[v] times, in random
 * order. */
enum { LENGTH = 2000, VALUES = 200 };

static void make_stream(uint64_t *stream, uint64_t *truth, int shape, struct hotlist_random *r)
{
    memset(truth, 0, VALUES * sizeof *truth);
    for (int i = 0; i < LENGTH; i++) {
        uint64_t x = hotlist_random_next(r);
        double u = (double)(x >> 11) / 9007199254740992.0;
        uint64_t v = 0;
        if (shape == 0) /* uniform */
            v = x % VALUES;
        else if (shape == 1) /* about zipf */
            v = (uint64_t)exp(u * log(VALUES)) - 1;
        else if (shape == 2) /* a bad case for tables: one value only at the end */
            v = i < LENGTH * 3 / 4 ? 1 + x % (VALUES - 1) : 0;
        else /* 70/30 of two, then noise */
            v = u < 0.63 ? 0 : u < 0.9 ? 1 : 2 + x % (VALUES - 2);
        stream[i] = v;
        truth[v]++;
    }
}

/* One z for each (shape, value): streams are independent of each other, so the sum of squares is
 * chi-square with as many degrees of freedom. merged: the stream is cut in three, and merged. */
static double chi_square(bool merged, unsigned *degrees)
{
    enum { SHAPES = 4, TESTED = 6, STREAMS = 300 };
    static const uint64_t tested[TESTED] = {0, 1, 2, 5, 20, 100};
    static uint64_t stream[LENGTH], truth[VALUES];
    struct hotlist_random r;
    double chi = 0;
    hotlist_random_seed(&r, merged ? 77 : 42);
    *degrees = SHAPES * TESTED;
    for (int shape = 0; shape < SHAPES; shape++)
        for (int t = 0; t < TESTED; t++) {
            double sum = 0, squares = 0;
            for (int s = 0; s < STREAMS; s++) {
                struct hotlist *parts[3] = {make_hotlist(), make_hotlist(), make_hotlist()};
                make_stream(stream, truth, shape, &r);
                for (int i = 0; i < LENGTH; i++)
                    hotlist_add(parts[merged ? i * 3 / LENGTH : 0], HOTLIST_CONCISE,
                                plain(stream[i]), &r);
                for (int k = 1; k < 3; k++)
                    hotlist_merge(parts[0], parts[k], HOTLIST_CONCISE, &r);
                assert_true(hotlist_check(parts[0], HOTLIST_CONCISE));
                assert_int_equal(parts[0]->observed, LENGTH);
                double error = estimate(parts[0], tested[t]) - (double)truth[tested[t]];
                sum += error;
                squares += error * error;
                for (int k = 0; k < 3; k++)
                    free(parts[k]);
            }
            double variance = (squares - sum * sum / STREAMS) / (STREAMS - 1);
            assert_true(variance > 0);
            chi += sum * sum / STREAMS / variance;
        }
    return chi;
}

/* Of 24 degrees of freedom: the mean is 24, and one in a million is beyond 74 or below 3. */
static void assert_unbiased(bool merged)
{
    unsigned degrees;
    double chi = chi_square(merged, &degrees);
    assert_int_equal(degrees, 24);
    if (!(chi > 3 && chi < 74))
        fail_msg("chi-square is %.1f of %u degrees of freedom", chi, degrees);
}

static void estimates_are_unbiased(void **state)
{
    (void)state;
    assert_unbiased(false);
}

static void merged_estimates_are_unbiased(void **state)
{
    (void)state;
    assert_unbiased(true);
}

/* 97% of one value: sampled from a million, the share is within 5 standard deviations of the
 * sample. */
static void invariance_of_a_long_stream(void **state)
{
    (void)state;
    struct hotlist *h = make_hotlist();
    struct hotlist_random r;
    hotlist_random_seed(&r, 5);
    for (int i = 0; i < 1000000; i++) {
        uint64_t x = hotlist_random_next(&r);
        hotlist_add(h, HOTLIST_CONCISE, plain(x % 100 < 97 ? 10 : x), &r);
    }
    double sample = hotlist_probability(h) * 1e6, deviation = sqrt(0.97 / sample);
    assert_true(h->steps > 0 && h->steps < HOTLIST_STEPS_MAX);
    assert_true(hotlist_invariance(h) > 0.97 - 5 * deviation);
    hotlist_sort(h);
    assert_int_equal(h->entries[0].bits, 10);
    free(h);
}

/* Of 90% the sample's share is within 2.4 points, as a rule; the count by p is off by 7. */
static void shares_are_those_of_what_was_kept(void **state)
{
    (void)state;
    enum { ROUNDS = 200, EACH = 4000 };
    double by_share = 0, by_count = 0, mean = 0;
    struct hotlist_random r;
    hotlist_random_seed(&r, 8);
    for (int round = 0; round < ROUNDS; round++) {
        struct hotlist *h = make_hotlist();
        for (int i = 0; i < EACH; i++) {
            uint64_t x = hotlist_random_next(&r);
            hotlist_add(h, HOTLIST_CONCISE, plain(x % 10 ? 10 : x), &r);
        }
        double share = hotlist_invariance(h), count = estimate(h, 10) / EACH;
        mean += share / ROUNDS;
        by_share += (share - 0.9) * (share - 0.9) / ROUNDS;
        by_count += (count - 0.9) * (count - 0.9) / ROUNDS;
        free(h);
    }
    assert_true(fabs(mean - 0.9) < 0.01);
    assert_true(sqrt(by_share) < 0.035);
    assert_true(sqrt(by_count) > 0.05);
}

static void all_different(void **state)
{
    (void)state;
    struct hotlist *h = make_hotlist();
    struct hotlist_random r;
    hotlist_random_seed(&r, 6);
    for (uint64_t i = 0; i < 1000000; i++)
        hotlist_add(h, HOTLIST_CONCISE, plain(i), &r);
    assert_true(hotlist_check(h, HOTLIST_CONCISE));
    assert_true(hotlist_invariance(h) < 0.5);
    assert_true(hotlist_is_spread(h));
    h->entries[0].count = 2;
    assert_false(hotlist_is_spread(h));
    free(h);
    h = make_hotlist();
    hotlist_add(h, HOTLIST_CONCISE, plain(1), &r);
    assert_false(hotlist_is_spread(h)); /* it is all there was */
    free(h);
}

/* What was seen 2^40 times takes no longer to thin than what was seen twice. */
static void great_counts(void **state)
{
    (void)state;
    struct hotlist *a = make_hotlist(), *b = make_hotlist();
    struct hotlist_random r;
    hotlist_random_seed(&r, 7);
    a->observed = UINT64_C(1) << 60;
    a->count = 1;
    a->entries[0] = (struct hotlist_entry){.bits = 1, .count = UINT64_C(1) << 60};
    b->observed = 1000;
    b->steps = 100;
    hotlist_merge(a, b, HOTLIST_CONCISE, &r);
    assert_int_equal(a->steps, 100);
    assert_true(fabs(estimate(a, 1) / (double)(UINT64_C(1) << 60) - 1) < 1e-6);
    free(a);
    free(b);
}

/* Of very many, only the rounding is left to chance. */
static void the_rest_of_great_counts(void **state)
{
    enum { DRAWN = 4000, REST = 9 };
    const uint64_t count = (UINT64_C(1) << 40) + REST, most = count - count / 16;
    struct hotlist_random r;
    double fewer = 0, p = REST / 16.0;
    (void)state;
    hotlist_random_seed(&r, 8);
    for (unsigned i = 0; i < DRAWN; i++) {
        uint64_t kept = hotlist_keep_instances(count, &r);
        assert_true(kept == most || kept == most - 1);
        fewer += kept < most;
    }
    assert_true(fabs(fewer / DRAWN - p) < 4 * sqrt(p * (1 - p) / DRAWN));
}

/* Thinned evenly, a count becomes its share, up or down; on average exactly that, and p is what it
 * would be by coins. */
static void even_thinning(void **state)
{
    enum { DRAWN = 4000, STEPS = 22, ENTRIES = 4 };
    static const uint64_t counts[ENTRIES] = {1, 7, 300, 100000};
    const double p = pow(15 / 16.0, STEPS);
    double sums[ENTRIES] = {0};
    struct hotlist *h = make_hotlist();
    struct hotlist_random r;
    (void)state;
    hotlist_random_seed(&r, 8);
    for (unsigned i = 0; i < DRAWN; i++) {
        h->count = h->steps = 0;
        for (unsigned k = 0; k < ENTRIES; k++)
            hotlist_append(h, plain(k), counts[k]);
        hotlist_thin_evenly(h, STEPS, &r);
        assert_int_equal(h->steps, STEPS);
        for (unsigned k = 0; k < ENTRIES; k++) {
            double left = (double)count_of(h, k);
            assert_true(left == floor((double)counts[k] * p) ||
                        left == ceil((double)counts[k] * p));
            sums[k] += left;
        }
    }
    for (unsigned k = 0; k < ENTRIES; k++)
        assert_true(fabs(sums[k] / DRAWN - (double)counts[k] * p) < 4 * 0.5 / sqrt(DRAWN));
    free(h);
}

static void tables_flush_the_lower_half(void **state)
{
    (void)state;
    struct hotlist *h = make_hotlist();
    struct hotlist_random r;
    hotlist_random_seed(&r, 8);
    /* 50 values fill the table: 25 of them often. */
    uint64_t n = 0;
    for (; n < 50; n++)
        hotlist_add(h, HOTLIST_TNV, plain(n), &r);
    for (; n < HOTLIST_TNV_INTERVAL - 1; n++)
        hotlist_add(h, HOTLIST_TNV, plain(n % 25), &r);
    assert_int_equal(h->count, 50);
    hotlist_add(h, HOTLIST_TNV, plain(1000), &r); /* no room, and the interval ends */
    assert_int_equal(h->count, 25);
    assert_int_equal(count_of(h, 1000), 0);
    assert_int_equal(count_of(h, 40), 0);
    assert_true(count_of(h, 24) > 50);
    /* A share is one of the stream, not of what is left in the table. */
    assert_true(hotlist_share(h, &h->entries[0]) ==
                (double)h->entries[0].count / HOTLIST_TNV_INTERVAL);
    hotlist_add(h, HOTLIST_TNV, plain(1000), &r);
    assert_int_equal(count_of(h, 1000), 1);
    assert_true(hotlist_check(h, HOTLIST_TNV));
    assert_true(hotlist_probability(h) >= 1);
    free(h);
}

static void what_cannot_be_is_found(void **state)
{
    (void)state;
    struct hotlist *h = make_hotlist();
    struct hotlist_random r;
    hotlist_random_seed(&r, 9);
    for (uint64_t i = 0; i < 10; i++)
        hotlist_add(h, HOTLIST_CONCISE, plain(i % 3), &r);
    assert_true(hotlist_check(h, HOTLIST_CONCISE));
    h->observed = 9;
    assert_false(hotlist_check(h, HOTLIST_CONCISE));
    h->observed = 10;
    h->steps = HOTLIST_STEPS_MAX + 1;
    assert_false(hotlist_check(h, HOTLIST_CONCISE));
    h->steps = 1;
    assert_false(hotlist_check(h, HOTLIST_TNV));
    assert_true(hotlist_check(h, HOTLIST_CONCISE));
    for (uint32_t i = 0; i < h->count; i++)
        h->entries[i].count = 0;
    assert_false(hotlist_check(h, HOTLIST_CONCISE)); /* a share would be nothing of nothing */
    h->count = 17;
    assert_false(hotlist_check(h, HOTLIST_CONCISE));
    free(h);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_values_are_counted_exactly),
        cmocka_unit_test(spaces_are_different_values),
        cmocka_unit_test(estimates_are_unbiased),
        cmocka_unit_test(merged_estimates_are_unbiased),
        cmocka_unit_test(invariance_of_a_long_stream),
        cmocka_unit_test(shares_are_those_of_what_was_kept),
        cmocka_unit_test(all_different),
        cmocka_unit_test(great_counts),
        cmocka_unit_test(the_rest_of_great_counts),
        cmocka_unit_test(even_thinning),
        cmocka_unit_test(tables_flush_the_lower_half),
        cmocka_unit_test(what_cannot_be_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
