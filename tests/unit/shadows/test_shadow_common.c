/* One budget for the processes of a program: what one has left another one has, and forks come
 * anywhere in a process's life. */
#include "sigsafe/shadow_common.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "sigsafe/shadow_budget.h"

enum { MS = 1000000, PPM = 10000, FORK_NS = 15 * MS };

static void test_programs(void **state)
{
    (void)state;
    struct shadow_common programs[SHADOW_PROGRAMS] = {{0}};
    for (unsigned i = 0; i < SHADOW_PROGRAMS; i++)
        assert_ptr_equal(shadow_common_find(programs, 100 + i), &programs[i]);
    assert_ptr_equal(shadow_common_find(programs, 107), &programs[7]);
    assert_null(shadow_common_find(programs, 99));
}

static void test_fork(void **state)
{
    (void)state;
    struct shadow_common c = {0};
    shadow_common_note(&c, 8 * MS);
    assert_int_equal(c.fork_ns, 8 * MS);
    shadow_common_note(&c, 16 * MS);
    assert_int_equal(c.fork_ns, 10 * MS);
}

/* Of two processes at the same time; and no more is kept than the budget of a window. */
static void test_left(void **state)
{
    (void)state;
    int64_t left = 0;
    const uint64_t second_ns = UINT64_C(1000) * MS * PPM / 1000000 * BUDGET_SPENT / BUDGET_WHOLE;
    struct shadow_budget a = {0}, b = {0};
    shadow_budget_share(&a, &left, PPM, UINT64_C(1000) * MS);
    shadow_budget_share(&b, &left, PPM, UINT64_C(2000) * MS);
    assert_int_equal(left, 3 * second_ns);
    struct budget_facts f = {.ppm = PPM, .cpu_ns = UINT64_C(2000) * MS, .last_ns = 3 * second_ns,
                             .saved = BUDGET_SHARES};
    assert_true(shadow_budget_allows(&b, &f));
    f.last_ns += MS;
    assert_false(shadow_budget_allows(&b, &f));
    shadow_budget_charge(&a, UINT64_C(1000) * MS, 4 * second_ns);
    shadow_budget_share(&a, &left, PPM, UINT64_C(1000) * MS);
    shadow_budget_share(&b, &left, PPM, UINT64_C(2000) * MS);
    assert_true(left == -(int64_t)second_ns);
    f.last_ns = f.saved = 0;
    assert_false(shadow_budget_allows(&b, &f)); /* what the other one owes is paid for first */
    shadow_budget_share(&b, &left, PPM, UINT64_C(1000000) * MS);
    shadow_budget_share(&a, &left, PPM, UINT64_C(1000000) * MS);
    assert_true(left == (int64_t)shadow_budget_limit_ns(PPM));
    shadow_budget_share(&b, &left, PPM, UINT64_C(2000000) * MS);
    assert_true(left == (int64_t)shadow_budget_limit_ns(PPM));
}

/* xorshift64 (Marsaglia, Xorshift RNGs, 2003) */
static uint64_t draw(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    return *x ^= *x << 17;
}

/* Processes of 700 ms that are looked at each 20 ms, of which one fork would cost more than the
 * budget of each of them has: a fifth of them are forked, anywhere, and all that is spent is what
 * the budget allows. */
static void test_short(void **state)
{
    (void)state;
    enum { PROCESSES = 4000, LIFE_MS = 700, LOOK_MS = 20, PARTS = 5 };
    struct shadow_common c = {0};
    uint64_t random = 1, spent = 0, forks = 0, in_part[PARTS] = {0};
    for (unsigned process = 0; process < PROCESSES; process++) {
        struct shadow_budget b = {0};
        for (uint64_t ms = LOOK_MS; ms <= LIFE_MS; ms += LOOK_MS) {
            c.saved = c.saved ? c.saved : 1 + draw(&random) % BUDGET_SHARES;
            shadow_budget_share(&b, &c.left_ns, PPM, ms * MS);
            struct budget_facts f = {
                .ppm = PPM, .cpu_ns = ms * MS, .last_ns = c.fork_ns, .saved = c.saved};
            if (!shadow_budget_allows(&b, &f))
                continue;
            shadow_budget_charge(&b, ms * MS, FORK_NS);
            shadow_common_note(&c, FORK_NS);
            shadow_budget_share(&b, &c.left_ns, PPM, ms * MS);
            spent += FORK_NS;
            forks++;
            c.saved = 0;
            in_part[(ms - LOOK_MS) * PARTS / LIFE_MS]++;
        }
    }
    uint64_t allowed =
        UINT64_C(1) * PROCESSES * LIFE_MS * MS / 1000000 * PPM * BUDGET_SPENT / BUDGET_WHOLE;
    assert_true(spent <= allowed + FORK_NS && spent + FORK_NS >= allowed);
    for (unsigned i = 0; i < PARTS; i++)
        assert_in_range(in_part[i], forks / PARTS * 8 / 10, forks / PARTS * 12 / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_programs), cmocka_unit_test(test_fork),
                                       cmocka_unit_test(test_left), cmocka_unit_test(test_short)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
