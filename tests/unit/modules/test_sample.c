/* Windows of a sampled simulation: what is measured, and how sure the mean is. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "modules/sample.h"

/* By hand: 2, 4, 4, 6 has the mean 4, the variance 8/3, and t = 3.182 for three degrees. */
static void interval_is_students(void **state)
{
    struct sample_sum s = {0};
    (void)state;
    sample_add(&s, 2);
    assert_true(sample_half_width(&s) < 0);
    sample_add(&s, 4);
    sample_add(&s, 4);
    sample_add(&s, 6);
    assert_true(fabs(s.mean - 4) < 1e-12);
    assert_true(fabs(sample_half_width(&s) - 3.182 * sqrt(8.0 / 3 / 4)) < 1e-9);
    struct sample_sum many = {.count = 31, .squares = 30 * 31};
    assert_true(fabs(sample_half_width(&many) - 2.0423) < 0.003); /* Student, 30 degrees */
}

/* 1 cycle an instruction in the warming, 2 in the first measured part, 1 from then on. */
static void windows_are_measured(void **state)
{
    struct sample s = {.settings = {.period = 1000, .warming = 10, .measured = 5,
                                    .bias_every = 2}};
    struct sample_window w;
    (void)state;
    for (uint32_t number = 1; number <= 2; number++) {
        uint64_t cycles = 1000, inside = 0;
        sample_begin(&s, &w, number);
        for (unsigned i = 0; i < 80; i++) {
            bool counts = sample_step(&s, &w, cycles);
            assert_int_equal(counts, i >= 10 && i < 15);
            inside += counts;
            cycles += counts ? 2 : 1;
        }
        assert_int_equal(inside, 5);
        assert_int_equal(s.cpi.count, number);
        assert_int_equal(s.bias.count, number / 2);
    }
    assert_int_equal(s.begun, 2);
    assert_true(fabs(s.cpi.mean - 2) < 1e-12 && fabs(s.bias.mean - 1) < 1e-12);
    assert_int_equal(sample_length(&s.settings, 1), 15);
    assert_int_equal(sample_length(&s.settings, 2), 50);
}

/* Each in its period, elsewhere by seed, spread over all of it; branches count near the next. */
static void places_are_in_their_periods(void **state)
{
    enum { WINDOWS = 4000, PERIOD = 10000000 };
    struct sample_settings one = {.period = PERIOD, .seed = 1}, two = {.period = PERIOD, .seed = 2};
    uint64_t quarters[4] = {0}, sum = 0;
    unsigned same = 0;
    (void)state;
    for (uint32_t n = 1; n <= WINDOWS; n++) {
        uint64_t place = sample_place(&one, n), first = (n - UINT64_C(1)) * PERIOD;
        assert_true(place >= first && place < first + PERIOD);
        quarters[(place - first) / (PERIOD / 4)]++;
        sum += place - first;
        same += place == sample_place(&two, n);
        assert_true(sample_is_near(&one, n, place - 1));
        if (place > PERIOD)
            assert_false(sample_is_near(&one, n, place - PERIOD));
    }
    for (unsigned i = 0; i < 4; i++)
        assert_in_range(quarters[i], WINDOWS / 4 - 150, WINDOWS / 4 + 150); /* 5 deviations */
    assert_in_range(sum / WINDOWS, PERIOD / 2 - PERIOD / 40, PERIOD / 2 + PERIOD / 40);
    assert_int_equal(same, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(interval_is_students),
                                       cmocka_unit_test(windows_are_measured),
                                       cmocka_unit_test(places_are_in_their_periods)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
