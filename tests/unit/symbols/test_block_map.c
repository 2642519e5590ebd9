/* Maps of basic blocks: what clang writes, cut off anywhere, and in versions that are not known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbols/block_map.h"

/* Of a copy without anything behind it, for the sanitizer. */
static bool read_copy(struct block_map *m, const uint8_t *data, size_t size)
{
    bool failed;
    uint8_t *copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    bool ok = block_map_read(m, copy, size, &failed);
    assert_false(failed);
    free(copy);
    return ok;
}

static const uint8_t two[] = {
    2, 0, 0x00, 0x10, 0, 0, 0, 0, 0, 0, 3,          /* at 0x1000, 3 blocks */
    0, 0, 0x10, 8, 2, 0, 0x90, 1, 8, 1, 4, 0x20, 1, /* the third behind a gap of 4 */
    2, 8, 2, 0x00, 0x20, 0, 0, 0, 0, 0, 0, 1,       /* in two places */
    0, 0, 4, 0, 0x00, 0x08, 0, 0, 0, 0, 0, 0, 1, 5, 0, 7, 0,
};

static void test_read(void **state)
{
    (void)state;
    struct block_map m;
    assert_true(read_copy(&m, two, sizeof two));
    assert_int_equal(m.count, 5);
    for (uint32_t i = 1; i < m.count; i++)
        assert_true(m.blocks[i - 1].end <= m.blocks[i].start);
    const struct block_map_block *b = block_map_find(&m, 0x1010);
    assert_int_equal(b->id, 2);
    assert_int_equal(b->end, 0x10a0);
    assert_int_equal(b->function, 0x1000);
    assert_null(block_map_find(&m, 0x10a0));
    assert_null(block_map_find(&m, 0x10a3));
    assert_int_equal(block_map_find(&m, 0x10a4)->id, 1);
    assert_int_equal(block_map_find(&m, 0x806)->id, 5);
    assert_int_equal(block_map_find(&m, 0x806)->function, 0x2000);
    assert_null(block_map_find(&m, 0x7ff));
    assert_null(block_map_find(&m, UINT64_MAX));
    block_map_free(&m);
}

static void test_wrong(void **state)
{
    (void)state;
    struct block_map m;
    uint8_t other[sizeof two];
    size_t first = 24; /* bytes of the first function */
    for (size_t size = 1; size < sizeof two; size++) {
        assert_int_equal(read_copy(&m, two, size), size == first);
        block_map_free(&m);
    }
    assert_true(read_copy(&m, two, 0));
    assert_int_equal(m.count, 0);
    for (unsigned byte = 0; byte < 2; byte++) {
        memcpy(other, two, sizeof two);
        other[byte] = byte ? 1 : 3; /* features, the version */
        assert_false(read_copy(&m, other, sizeof two));
    }
    uint64_t random = 7;
    for (unsigned i = 0; i < 20000; i++) {
        memcpy(other, two, sizeof two);
        for (unsigned k = 0; k < 3; k++) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            other[(random >> 33) % sizeof two] = (uint8_t)(random >> 24);
        }
        read_copy(&m, other, sizeof two);
        block_map_free(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
