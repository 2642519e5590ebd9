/* ARRAY_ROOM: elements stay, capacities of both widths grow, nothing changes where it cannot. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows),
        cmocka_unit_test(full_ones_stay_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
