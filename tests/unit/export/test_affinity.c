/* The order of functions, of calls that are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "export/affinity.h"

/* Function i begins at 1 + i * STEP. */
enum { STEP = 4 * 1024 * 1024 };

static struct code_function function(unsigned i, uint64_t size)
{
    uint64_t start = 1 + (uint64_t)i * STEP;
    return (struct code_function){ "f", start, start + size };
}

struct row {
    uint64_t size, heat;
};
struct arrow {
    unsigned from, to;
    uint64_t count;
};

static struct affinity lists(const struct row *rows, unsigned count, const struct arrow *arrows,
                             unsigned arrow_count)
{
    struct affinity a = { 0 };
    for (unsigned i = 0; i < count; i++) {
        struct code_function f = function(i, rows[i].size);
        affinity_heat(&a, &f, rows[i].heat / 2);
        affinity_heat(&a, &f, rows[i].heat - rows[i].heat / 2);
    }
    for (unsigned i = 0; i < arrow_count; i++) {
        struct code_function from = function(arrows[i].from, rows[arrows[i].from].size);
        struct code_function to = function(arrows[i].to, rows[arrows[i].to].size);
        affinity_call(&a, &from, &to, arrows[i].count);
    }
    affinity_settle(&a);
    assert_false(a.failed);
    return a;
}

#define ORDER_IS(rows, arrows, ...)                                                               \
    do {                                                                                          \
        const uint32_t wanted[] = { __VA_ARGS__ };                                                \
        struct affinity a = lists(rows, sizeof(rows) / sizeof *(rows), arrows,                    \
                                  sizeof(arrows) / sizeof *(arrows));                             \
        uint32_t *order = affinity_order(&a);                                                     \
        assert_non_null(order);                                                                   \
        assert_int_equal(a.function_count, sizeof wanted / sizeof *wanted);                       \
        for (uint32_t k = 0; k < a.function_count; k++)                                           \
            assert_int_equal(order[k], wanted[k]);                                                \
        free(order);                                                                              \
        affinity_fini(&a);                                                                        \
    } while (0)

static void test_settled(void **state)
{
    (void)state;
    const struct row rows[] = { { 10, 7 }, { 20, 0 } };
    const struct arrow arrows[] = { { 0, 1, 3 }, { 1, 1, 9 }, { 0, 1, UINT64_MAX } };
    struct affinity a = lists(rows, 2, arrows, 3);
    assert_int_equal(a.function_count, 2);
    assert_int_equal(a.functions[0].heat, 7);
    assert_int_equal(a.functions[1].size, 20);
    assert_int_equal(a.call_count, 1); /* no recursion */
    assert_int_equal(a.calls[0].count, UINT64_MAX);
    affinity_fini(&a);
}

static void test_chain(void **state)
{
    (void)state;
    const struct row rows[] = { { 100, 900 }, { 100, 100 }, { 100, 500 }, { 100, 1 } };
    const struct arrow arrows[] = { { 1, 2, 50 }, { 2, 0, 40 }, { 3, 0, 30 } };
    ORDER_IS(rows, arrows, 1, 2, 0, 3);
}

static void test_likeliest_caller(void **state)
{
    (void)state;
    /* 2 is called by both; a function with no likely caller stays for itself */
    const struct row rows[] = { { 100, 300 }, { 100, 200 }, { 100, 100 } };
    const struct arrow more[] = { { 0, 2, 10 }, { 1, 2, 11 } };
    ORDER_IS(rows, more, 0, 1, 2);
    struct row many[13];
    struct arrow even[11];
    for (unsigned i = 0; i < 13; i++)
        many[i] = (struct row){ 100, i == 12 ? 5000 : 1000 - i };
    for (unsigned i = 0; i < 11; i++)
        even[i] = (struct arrow){ i, 12, 10 };
    ORDER_IS(many, even, 12, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
}

static void test_density(void **state)
{
    (void)state;
    /* no cluster grows beyond 1 MB; the smaller of equal heat is denser */
    const struct row large[] = { { 700 * 1024, 1000 }, { 700 * 1024, 900 }, { 10, 10 } };
    const struct arrow calls[] = { { 0, 1, 5 } };
    ORDER_IS(large, calls, 2, 0, 1);
    /* a hot caller takes no large, cold function */
    const struct row mixed[] = { { 100, 100000 }, { 5000, 10 }, { 100, 1000 } };
    const struct arrow both[] = { { 0, 1, 5 }, { 0, 2, 5 } };
    ORDER_IS(mixed, both, 0, 2, 1);
}

static void test_cycle(void **state)
{
    (void)state;
    const struct row rows[] = { { 0, 10 }, { UINT64_MAX / 2, 30 }, { 100, UINT64_MAX } };
    const struct arrow arrows[] = { { 0, 1, 5 }, { 1, 2, 5 }, { 2, 0, 5 } };
    struct affinity a = lists(rows, 3, arrows, 3);
    uint32_t *order = affinity_order(&a), seen = 0;
    for (uint32_t i = 0; i < 3; i++)
        seen |= 1U << order[i];
    assert_int_equal(seen, 7);
    free(order);
    affinity_fini(&a);
}

static void test_random_is_a_permutation(void **state)
{
    (void)state;
    enum { COUNT = 500 };
    struct affinity a = { 0 };
    uint64_t random = 42;
    for (unsigned i = 0; i < 4 * COUNT; i++) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        unsigned from = (unsigned)((random >> 20) % COUNT), to = (unsigned)((random >> 40) % COUNT);
        struct code_function f = function(from, 1 + from * 97), g = function(to, 1 + to * 97);
        affinity_heat(&a, &f, random >> 50);
        affinity_call(&a, &f, &g, random >> 56);
    }
    affinity_settle(&a);
    uint32_t *order = affinity_order(&a), seen[COUNT] = { 0 };
    for (uint32_t i = 0; i < a.function_count; i++)
        assert_int_equal(seen[order[i]]++, 0);
    assert_true(a.function_count > COUNT / 2);
    free(order);
    affinity_fini(&a);
}

static void test_nothing(void **state)
{
    (void)state;
    struct affinity a = { 0 };
    affinity_settle(&a);
    uint32_t *order = affinity_order(&a);
    assert_non_null(order);
    free(order);
    affinity_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settled),
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_likeliest_caller),
        cmocka_unit_test(test_density),
        cmocka_unit_test(test_cycle),
        cmocka_unit_test(test_random_is_a_permutation),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
