/* The statistics of differences: known values, calibration, power. Samples are drawn with a fixed
 * seed, so each run is the same. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/chance.h"

static uint64_t seed;

static double uniform(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (double)(seed >> 11) / (double)(UINT64_C(1) << 53);
}

static double draw(double n, double share)
{
    double hits = 0;
    for (double i = 0; i < n; i++)
        hits += uniform() < share;
    return hits;
}

/* Half the sum of twelve: near enough to normal for t-tests. */
static double normal(void)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += uniform();
    return sum;
}

static void assert_near(double value, double expected, double within)
{
    if (!(fabs(value - expected) <= within))
        fail_msg("%.9g is not %.9g +- %g", value, expected, within);
}

/* Tables of t, and R's pt and qt. */
static void students_distribution(void **state)
{
    (void)state;
    assert_near(chance_student(2.776445105, 4), 0.05, 1e-9);
    assert_near(chance_student(12.70620474, 1), 0.05, 1e-9);
    assert_near(chance_student(1.959963985, INFINITY), 0.05, 1e-9);
    assert_near(chance_student(-3, 7.5), 0.0183, 2e-4);
    assert_near(chance_student(0, 3), 1, 1e-12);
    assert_near(chance_student_95(4), 2.776445105, 1e-6);
    assert_near(chance_student_95(1), 12.70620474, 1e-6);
    assert_near(chance_student_95(1e5), 1.95999, 1e-4);
}

/* Newcombe 1998, table II, 56/70 and 48/80 by method 10. */
static void newcombes_interval(void **state)
{
    (void)state;
    struct chance_side a = {48.0 / 80, 80, 1, 0}, b = {56.0 / 70, 70, 1, 0};
    struct chance_verdict v = chance_of_sampling(a, b);
    assert_near(v.low, 0.0524, 5e-5);
    assert_near(v.high, 0.3339, 5e-5);
    struct chance_verdict back = chance_of_sampling(b, a);
    assert_near(back.low, -v.high, 1e-12);
    assert_near(back.p, v.p, 1e-12);
    /* Twice as much of half a share is no difference. */
    b = (struct chance_side){24.0 / 80, 80, 2, 0};
    v = chance_of_sampling(a, b);
    assert_near(v.low + v.high, 0, 0.1);
    assert_near(v.p, 1, 1e-9);
}

static void rare_hits(void **state)
{
    (void)state;
    /* Of as many samples: none and six are two tails of half of 1/64, and 1/64 besides. */
    struct chance_verdict v = chance_of_sampling((struct chance_side){0, 1e6, 1, 0},
                                                 (struct chance_side){6e-6, 1e6, 1, 0});
    assert_near(v.p, 1.0 / 64, 1e-6);
    /* One of a hundred is not rare if ten of a hundred thousand are. */
    v = chance_of_sampling((struct chance_side){0.01, 100, 1, 0},
                           (struct chance_side){1e-4, 100000, 1, 0});
    assert_true(v.p > 0.005 && v.p < 0.05);
    /* The rest is as rare: all of it against all but six. */
    v = chance_of_sampling((struct chance_side){1, 1e6, 1, 0},
                           (struct chance_side){1 - 6e-6, 1e6, 1, 0});
    assert_near(v.p, 1.0 / 64, 1e-4);
}

static void what_was_counted_is_certain(void **state)
{
    (void)state;
    struct chance_side a = {0.5, INFINITY, 1, 0}, b = {0.5 + 1e-9, INFINITY, 1, 0};
    assert_true(chance_of_sampling(a, a).p == 1);
    assert_true(chance_of_sampling(a, b).p == 0);
    struct chance_verdict v = chance_of_sampling(a, b);
    assert_true(v.low == v.high);
}

static void welchs_test(void **state)
{
    (void)state;
    /* R's t.test of these two: t = -2.4554, df = 24.989, p = 0.02138. */
    const double a[] = {27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1,
                        21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4};
    const double b[] = {27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0,
                        24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4};
    struct chance_verdict v = chance_of_runs(a, 15, b, 15);
    assert_near(v.p, 0.021378, 1e-6);
    assert_true(v.low > 0 && v.low < v.high);
    const double same[] = {3, 3};
    assert_true(chance_of_runs(same, 2, same, 2).p == 1);
    assert_true(chance_of_runs(same, 2, same, 1).p == 1);
    const double other[] = {4, 4, 4};
    assert_true(chance_of_runs(same, 2, other, 3).p == 0);
    /* One run spreads as the others do. */
    v = chance_of_runs(a, 1, b, 15);
    assert_true(v.low < 0 && v.p < 1 && v.p > chance_of_runs(a, 1, same, 2).p);
}

/* The example of Benjamini and Hochberg 1995, section 3.2: four of fifteen at 5%. */
static void benjamini_and_hochberg(void **state)
{
    (void)state;
    double p[] = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, NAN,
                  0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.000};
    double q[16];
    assert_true(chance_adjust(p, q, 16));
    unsigned significant = 0;
    for (unsigned i = 0; i < 16; i++)
        significant += q[i] <= 0.05;
    assert_int_equal(significant, 4);
    assert_true(isnan(q[8]));
    assert_near(q[0], 0.0015, 1e-9);
    assert_near(q[3], 0.035625, 1e-9);
    assert_near(q[15], 1, 0);
    assert_true(chance_adjust(p, q, 0));
}

/* Shares of the same program, sampled twice: how often each is called different at 5%. */
static void sampling_is_calibrated(void **state)
{
    (void)state;
    const double shares[] = {0.001, 0.004, 0.01, 0.05, 0.3, 0.5, 0.9, 0.99};
    enum { TRIES = 4000, SAMPLES = 1000 };
    seed = 88172645463325252u;
    for (unsigned i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        unsigned wrong = 0, outside = 0;
        for (unsigned k = 0; k < TRIES; k++) {
            struct chance_side a = {draw(SAMPLES, shares[i]) / SAMPLES, SAMPLES, 1, 0};
            struct chance_side b = {draw(2 * SAMPLES, shares[i]) / (2 * SAMPLES), 2 * SAMPLES,
                                    1, 0};
            struct chance_verdict v = chance_of_sampling(a, b);
            wrong += v.p <= 0.05;
            outside += v.low > 0 || v.high < 0;
        }
        /* 5%, and three of its standard errors */
        assert_in_range(wrong, 0, TRIES * 0.0604);
        assert_in_range(outside, 0, TRIES * 0.0604);
        if (shares[i] >= 0.05 && shares[i] <= 0.9)
            assert_in_range(wrong, TRIES * 0.04, TRIES);
    }
}

static void runs_are_calibrated(void **state)
{
    (void)state;
    enum { TRIES = 20000 };
    unsigned wrong = 0, found = 0;
    seed = 362436069362436069u;
    for (unsigned k = 0; k < TRIES; k++) {
        double a[5], b[5], c[5];
        for (unsigned i = 0; i < 5; i++) {
            a[i] = 0.5 * (1 + 0.005 * normal());
            b[i] = 0.5 * (1 + 0.005 * normal());
            c[i] = 0.5 * 1.02 * (1 + 0.005 * normal());
        }
        wrong += chance_of_runs(a, 5, b, 5).p <= 0.05;
        found += chance_of_runs(a, 5, c, 5).p <= 0.05;
    }
    assert_in_range(wrong, TRIES * 0.04, TRIES * 0.0546);
    assert_in_range(found, TRIES * 0.9, TRIES);
}

/* The scale is that of a count which has an error of its own. */
static void scales_have_errors(void **state)
{
    (void)state;
    enum { TRIES = 4000 };
    unsigned wrong = 0, outside = 0, bold = 0;
    const double error = 0.03;
    seed = 521288629362436069u;
    for (unsigned k = 0; k < TRIES; k++) {
        struct chance_side sides[2];
        for (unsigned i = 0; i < 2; i++)
            sides[i] = (struct chance_side){.share = draw(1000, 0.9) / 1000, .n = 1000,
                                            .scale = 1 + error * normal(),
                                            .scale_error = error * error};
        struct chance_verdict v = chance_of_sampling(sides[0], sides[1]);
        wrong += v.p <= 0.05;
        outside += v.low > 0 || v.high < 0;
        sides[0].scale_error = sides[1].scale_error = 0;
        bold += chance_of_sampling(sides[0], sides[1]).p <= 0.05;
    }
    assert_in_range(wrong, TRIES * 0.04, TRIES * 0.0604);
    assert_in_range(outside, 0, TRIES * 0.0604);
    assert_in_range(bold, TRIES * 0.3, TRIES);
}

static void dispersion_is_what_most_rows_have(void **state)
{
    (void)state;
    enum { ROWS = 4001 };
    double p[ROWS];
    for (double spread = 0.5; spread < 5; spread *= 2) {
        for (unsigned i = 0; i < ROWS; i++)
            /* A third is changed. */
            p[i] = i % 3 ? chance_student(spread * normal(), INFINITY) : i % 2 ? 0 : NAN;
        double found = chance_dispersion(p, ROWS);
        if (spread < 1)
            assert_true(found == 1);
        else
            assert_near(found / (spread * spread), 1.5, 0.5);
    }
    for (unsigned i = 0; i < CHANCE_SPREAD_LEAST; i++)
        p[i] = 1e-9;
    assert_true(chance_dispersion(p, CHANCE_SPREAD_LEAST) > 30);
    assert_true(chance_dispersion(p, CHANCE_SPREAD_LEAST - 1) == 1);
    p[0] = NAN;
    assert_true(chance_dispersion(p, CHANCE_SPREAD_LEAST) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(students_distribution),   cmocka_unit_test(newcombes_interval),
        cmocka_unit_test(rare_hits),               cmocka_unit_test(what_was_counted_is_certain),
        cmocka_unit_test(welchs_test),             cmocka_unit_test(benjamini_and_hochberg),
        cmocka_unit_test(sampling_is_calibrated),  cmocka_unit_test(runs_are_calibrated),
        cmocka_unit_test(scales_have_errors),
        cmocka_unit_test(dispersion_is_what_most_rows_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
