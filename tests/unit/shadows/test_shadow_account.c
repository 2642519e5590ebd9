/* What forks cost, as the program sees it: page faults above its own, copied or reused, and when
 * shadows have to end. */
#include "sigsafe/shadow_account.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MS = 1000000, COPY_NS = 2000, REUSE_NS = 700, PPM = 10000 };

static const struct shadow_prices prices = {.copy_ns = COPY_NS, .reuse_ns = REUSE_NS};

static struct shadow_account forked(uint64_t cpu_ms, uint64_t pages)
{
    struct shadow_account a = SHADOW_ACCOUNT_BEGIN;
    struct shadow_usage now = {.cpu_ns = cpu_ms * MS, .pages = pages};
    shadow_account_fork(&a, &now);
    shadow_account_pause(&a, &now, 3 * MS);
    return a;
}

/* Pages cost less once there is no shadow any more, in the account and in what a fork is expected
 * to cost. */
static void test_prices(void **state)
{
    (void)state;
    struct shadow_account a = forked(1000, 5000);
    struct shadow_usage now = {.cpu_ns = 1010 * MS, .faults = 1000, .pages = 5000};
    struct copies_charged c = shadow_account_copies(&a, &now, &prices, true);
    assert_int_equal(c.pages, 1000);
    assert_int_equal(c.ns, shadow_copies_ns(1000, COPY_NS));
    now.faults = 1400;
    c = shadow_account_copies(&a, &now, &prices, false);
    assert_int_equal(c.pages, 400);
    assert_int_equal(c.ns, shadow_copies_ns(400, REUSE_NS));
    uint64_t cost = 3 * MS + shadow_copies_ns(1000, COPY_NS) + shadow_copies_ns(400, REUSE_NS);
    assert_int_equal(shadow_account_cost(&a, &now, &prices), cost);
    assert_int_equal(a.budget.all_ns, cost);
    assert_int_equal(shadow_account_page_ns(&a, &prices), (1000 * COPY_NS + 400 * REUSE_NS) / 1400);
    now.faults = 1000000; /* no more than there were */
    assert_int_equal(shadow_account_copies(&a, &now, &prices, true).pages, 3600);
    assert_int_equal(shadow_account_cost_most(&a, &now, &prices),
                     3 * MS + shadow_copies_ns(5000, COPY_NS));
    shadow_account_fork(&a, &now);
    assert_int_equal(a.copies + a.reused, 0);
    assert_int_equal(shadow_account_page_ns(&a, &prices), COPY_NS);
}

/* A hundred faults a millisecond are the program's own, as a window shows in which nothing was
 * copied. */
static void test_own(void **state)
{
    (void)state;
    struct shadow_account a = forked(1000, 100000);
    struct shadow_usage now = {.pages = 100000};
    for (uint64_t ms = 1; ms <= 50; ms++) {
        now.cpu_ns = (1000 + ms) * MS;
        now.faults += ms <= 5 ? 600 : 100;
        shadow_account_look(&a, &now, true, true);
        shadow_account_copies(&a, &now, &prices, true);
    }
    assert_int_equal(shadow_account_copied(&a, &now), 5 * 500);
    /* without a budget 100 ms have to pass: all are copies so far */
    struct shadow_account b = forked(1000, 100000);
    now = (struct shadow_usage){.cpu_ns = 1050 * MS, .faults = 5000, .pages = 100000};
    shadow_account_look(&b, &now, false, true);
    assert_int_equal(shadow_account_copied(&b, &now), 5000);
}

/* A program that makes memory has page faults of its own for that, which say nothing of those that
 * it has when it has made it all: these are copies. */
static void test_trickle(void **state)
{
    (void)state;
    struct shadow_account a = SHADOW_ACCOUNT_BEGIN;
    struct shadow_usage now = {.pages = 1000};
    for (uint64_t ms = 0; ms < 100; ms++) {
        if (ms == 50) {
            shadow_account_fork(&a, &now);
            shadow_account_pause(&a, &now, MS);
        }
        now.cpu_ns += MS;
        now.pages += ms < 50 ? 100 : 0;
        now.faults += ms < 50 ? 100 : 20;
        shadow_account_look(&a, &now, true, true);
    }
    assert_int_equal(shadow_account_copied(&a, &now), 50 * 20);
}

/* A program that makes its memory after a fork, gives some of it back, and makes more: each page
 * that it makes is a fault of its own, but where one may make 512. */
static void test_grows(void **state)
{
    (void)state;
    for (int small = 0; small < 2; small++) {
        struct shadow_account a = forked(1000, 5000);
        struct shadow_usage now = {.cpu_ns = 1002 * MS, .faults = 4300, .pages = 9000};
        shadow_account_look(&a, &now, true, small);
        assert_int_equal(shadow_account_copied(&a, &now), small ? 300 : 4300);
        now.pages = 6000;
        shadow_account_look(&a, &now, true, small);
        now.pages = 6500;
        now.faults = 4900;
        shadow_account_look(&a, &now, true, small);
        assert_int_equal(shadow_account_copied(&a, &now), small ? 400 : 4900);
        shadow_account_fork(&a, &now);
        assert_int_equal(shadow_account_copied(&a, &now), 0);
        assert_int_equal(a.grown, 0);
    }
}

/* A program that writes to all of its memory after a fork, at this rate: triggers 20 ms apart, and
 * shadows that are dismissed are there for one interval more. What of the budget of ten seconds it
 * costs at most, in percent. */
static uint64_t burst(uint64_t pages, uint64_t rate, bool dismiss, bool *dismissed)
{
    enum { INTERVAL_MS = 20 };
    struct shadow_account a = forked(1000, pages);
    struct shadow_usage now = {.pages = pages};
    bool shared = true;
    *dismissed = false;
    for (uint64_t ms = 1000 + INTERVAL_MS; ms < 9000; ms += INTERVAL_MS) {
        now.cpu_ns = ms * MS;
        now.faults += now.faults < pages ? rate * INTERVAL_MS : 0;
        struct copies_charged c = shadow_account_copies(&a, &now, &prices, shared);
        shared = !*dismissed;
        *dismissed |= dismiss && shadow_account_overdrawn(&a, &now, &prices, PPM, c.pages);
    }
    return a.budget.worst_ns * 100 / shadow_budget_limit_ns(PPM);
}

/* Shadows end before copies have used up a quarter more than the budget, and not for less. */
static void test_overdrawn(void **state)
{
    (void)state;
    static const uint64_t rates[] = {6, 20, 100, 250};
    bool dismissed;
    for (unsigned i = 0; i < sizeof rates / sizeof *rates; i++) {
        /* 160 MB: 160 ms of 100 */
        assert_in_range(burst(40000, rates[i], false, &dismissed), 126, 200);
        assert_in_range(burst(40000, rates[i], true, &dismissed), 80, 125);
        assert_true(dismissed);
        assert_in_range(burst(25000, rates[i], true, &dismissed), 100, 105);
        assert_false(dismissed);
    }
}

/* Nor for a burst of copies soon after the fork that is followed by little: a program that
 * begins. */
static void test_begins(void **state)
{
    (void)state;
    struct shadow_account a = forked(100, 80000);
    struct shadow_usage now = {.cpu_ns = 140 * MS, .faults = 4500, .pages = 80000};
    struct copies_charged c = shadow_account_copies(&a, &now, &prices, true);
    assert_int_equal(c.pages, 4500);
    assert_false(shadow_account_overdrawn(&a, &now, &prices, PPM, c.pages));
    assert_true(shadow_account_overdrawn(&a, &now, &prices, PPM / 3, c.pages));
}

/* A trigger's signal is paid for from the budget, but stands in the account of its thread
 * already. */
static void test_triggers(void **state)
{
    (void)state;
    struct shadow_account a = forked(1000, 5000);
    struct shadow_usage now = {.cpu_ns = 1010 * MS, .pages = 5000};
    shadow_account_trigger(&a, &now, 30000, 8000);
    shadow_account_trigger(&a, &now, 0, 2000);
    assert_int_equal(a.budget.all_ns, 3 * MS + 40000);
    assert_int_equal(a.triggers_ns, 40000);
    assert_int_equal(a.signals_ns, 30000);
    shadow_account_fork(&a, &now);
    assert_int_equal(a.triggers_ns, 0);
    assert_int_equal(shadow_own_cost_ns(a.budget.all_ns, a.signals_ns), 3 * MS + 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prices),
        cmocka_unit_test(test_own),
        cmocka_unit_test(test_trickle),
        cmocka_unit_test(test_grows),
        cmocka_unit_test(test_overdrawn),
        cmocka_unit_test(test_begins),
        cmocka_unit_test(test_triggers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
