/* What a copy of a page costs is measured at first and then once a second; the price is the median
 * of the last ones. */
#include "collector/record_copies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { SECOND = 1000000000 };

static void again(struct record_copies *c, struct shadow_settings *settings)
{
    c->looked_ns -= SECOND;
    record_copies_poll(c, CARRIER_SHADOW, settings);
}

static void test_measured(void **state)
{
    (void)state;
    static struct shadow_settings settings;
    struct record_copies c = {0};
    record_copies_poll(&c, CARRIER_SHADOW, &settings);
    assert_int_equal(c.count, 1);
    assert_in_range(settings.cow_ns, 50, 1000000);
    assert_in_range(settings.reuse_ns, 10, settings.cow_ns); /* a fault, but no copy */
    /* a second has not passed, in all likelihood */
    record_copies_poll(&c, CARRIER_SHADOW, &settings);
    assert_in_range(c.count, 1, 2);
    uint64_t count = c.count;
    again(&c, &settings);
    assert_int_equal(c.count, count + 1);
    record_copies_end(&c);
}

/* Of two, one of which is much too high, the other one counts. */
static void test_two(void **state)
{
    (void)state;
    static struct shadow_settings settings;
    struct record_copies c = {
        .costs_ns = {UINT32_MAX}, .reuses_ns = {UINT32_MAX}, .count = 1, .looked_ns = 1};
    again(&c, &settings);
    assert_int_equal(c.count, 2);
    assert_in_range(settings.cow_ns, 10, 1000000);
    assert_in_range(settings.reuse_ns, 10, settings.cow_ns);
    record_copies_end(&c);
}

/* A slow phase at the beginning is outvoted by what comes later; nine are kept. */
static void test_median(void **state)
{
    (void)state;
    static struct shadow_settings settings;
    struct record_copies c = {.costs_ns = {1, 1, 1, 1, 1}, .count = 5, .looked_ns = 1};
    for (unsigned i = 0; i < 4; i++)
        again(&c, &settings);
    assert_int_equal(settings.cow_ns, 1);
    again(&c, &settings); /* in the place of the first: five of nine */
    assert_true(settings.cow_ns > 1);
    assert_int_equal(c.count, 10);
    record_copies_end(&c);
}

static void test_without_shadows(void **state)
{
    (void)state;
    static struct shadow_settings settings = {.cow_ns = 7};
    struct record_copies c = {0};
    record_copies_poll(&c, CARRIER_HANDLER, &settings);
    assert_int_equal(settings.cow_ns, 7);
    assert_null(c.pages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_measured),
        cmocka_unit_test(test_two), cmocka_unit_test(test_median),
        cmocka_unit_test(test_without_shadows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
