/* ARRAY_ROOM: elements stay, capacities of both widths grow, nothing changes where it cannot.
 * ARRAY_LEADING: as counted one by one. */
#include "base/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MANY = 5000 };

static void grows(void **state)
{
    struct {
        uint64_t *list;
        uint32_t count, capacity;
    } narrow = {0};
    uint8_t *list = NULL;
    size_t count = 0, capacity = 0, moved = 0;
    (void)state;
    for (uint32_t i = 0; i < MANY; i++) {
        assert_true(ARRAY_ROOM(narrow.list, narrow.count, narrow.capacity));
        narrow.list[narrow.count++] = i;
        size_t had = capacity;
        assert_true(ARRAY_ROOM(list, count, capacity));
        list[count++] = (uint8_t)i;
        moved += capacity != had;
        assert_true(narrow.count <= narrow.capacity && count <= capacity);
    }
    for (uint32_t i = 0; i < MANY; i++)
        assert_true(narrow.list[i] == i && list[i] == (uint8_t)i);
    assert_true(moved < 15); /* it doubles */
    free(narrow.list);
    free(list);
}

static void full_ones_stay_as_they_are(void **state)
{
    char element, *list = &element;
    uint32_t count = UINT32_C(1) << 31, capacity = count;
    (void)state;
    assert_false(ARRAY_ROOM(list, count, capacity));
    assert_true(list == &element && capacity == count);
}

static void leading_ones_are_counted(void **state)
{
    enum { MOST = 9 };
    const uint64_t keys[MOST] = {0, 3, 3, 3, 7, 8, 8, UINT64_MAX - 1, UINT64_MAX};
    (void)state;
    for (uint32_t count = 0; count <= MOST; count++)
        for (unsigned k = 0; k < MOST; k++) {
            uint32_t below = 0, until = 0;
            while (below < count && keys[below] < keys[k])
                below++;
            while (until < count && keys[until] <= keys[k])
                until++;
            assert_int_equal(ARRAY_LEADING(count, i, keys[i] < keys[k]), below);
            assert_int_equal(ARRAY_LEADING(count, i, keys[i] <= keys[k]), until);
        }
    size_t many = SIZE_MAX;
    assert_true(ARRAY_LEADING(many, i, i < SIZE_MAX / 2) == SIZE_MAX / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows),
        cmocka_unit_test(full_ones_stay_as_they_are),
        cmocka_unit_test(leading_ones_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
