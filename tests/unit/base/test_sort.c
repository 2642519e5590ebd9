/* sort_runs: all elements in order; one or two runs in linear time, and stable. */
#include "base/sort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST = 300 };

struct item {
    uint32_t key, place; /* where it was */
};

static size_t comparisons;

static int compare(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    comparisons++;
    return (x->key > y->key) - (x->key < y->key);
}

static uint32_t draw(uint32_t bound)
{
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + 1;
    return (uint32_t)(state >> 33) % bound;
}

/* Keys that ascend but in `falls` places. */
static void fill(struct item *list, size_t count, size_t falls)
{
    uint32_t key = 1000;
    for (size_t i = 0; i < count; i++) {
        bool fall = falls && i && i % (count / (falls + 1) + 1) == 0;
        key = fall ? draw(1000) : key + draw(3);
        list[i] = (struct item){key, (uint32_t)i};
    }
}

/* All are there, in order; where it is stable, equal ones as they were. */
static void check(const struct item *list, size_t count, bool stable)
{
    bool seen[MOST] = {false};
    for (size_t i = 0; i < count; i++) {
        assert_false(seen[list[i].place]);
        seen[list[i].place] = true;
        if (i)
            assert_true(list[i - 1].key < list[i].key ||
                        (list[i - 1].key == list[i].key &&
                         (!stable || list[i - 1].place < list[i].place)));
    }
}

static void sorts(void **state)
{
    struct item list[MOST];
    (void)state;
    for (size_t count = 0; count < MOST; count++)
        for (size_t falls = 0; falls < 5; falls++) {
            fill(list, count, falls);
            sort_runs(list, count, sizeof *list, compare);
            check(list, count, falls < 2);
        }
    sort_runs(NULL, 0, sizeof *list, compare);
}

static void one_or_two_runs_take_linear_time(void **state)
{
    struct item list[MOST];
    (void)state;
    for (size_t falls = 0; falls < 2; falls++) {
        fill(list, MOST, falls);
        comparisons = 0;
        sort_runs(list, MOST, sizeof *list, compare);
        assert_true(comparisons < MOST * (1 + falls));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts),
        cmocka_unit_test(one_or_two_runs_take_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
