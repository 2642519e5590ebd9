/* Address streams: what a row says of accesses that are known, and what happens without room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "sigsafe/spool_streams.h"
#include "sigsafe/tools.h"

static void accesses(struct spool_stream *row, uint64_t from, int64_t stride, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        stream_access_as(row, from + (uint64_t)stride * i);
}

static void test_one_access(void **state)
{
    struct spool_stream row = {0};
    (void)state;
    accesses(&row, 0x1000, 0, 1);
    assert_int_equal(row.count, 1);
    assert_int_equal(row.lo, 0x1000);
    assert_int_equal(row.hi, 0x1000);
    assert_int_equal(row.runs, 0);
    assert_int_equal(row.times[0], 0);
}

static void test_constant_stride(void **state)
{
    struct spool_stream row = {0};
    (void)state;
    accesses(&row, 0x1000, -8, 101);
    assert_int_equal(row.count, 101);
    assert_int_equal(row.runs, 1);
    assert_int_equal(row.hi - row.lo, 800);
    assert_int_equal(row.strides[0], -8);
    assert_int_equal(row.times[0], 100);
    assert_int_equal(row.times[1], 0);
    assert_int_equal(row.others, 0);
    /* 0x1000 begins a line: from it and from every eighth access below, one goes down into the
     * next. */
    assert_int_equal(row.same_line, 100 - 13);
}

/* Rows of a matrix: 15 steps of 8, then one back to the next row's beginning. */
static void test_two_strides(void **state)
{
    struct spool_stream row = {0};
    (void)state;
    for (uint64_t i = 0; i < 50; i++)
        accesses(&row, 0x10000 + 4096 * i, 8, 16);
    assert_int_equal(row.strides[0], 8);
    assert_int_equal(row.times[0], 50 * 15);
    assert_int_equal(row.strides[1], 4096 - 15 * 8);
    assert_int_equal(row.times[1], 49);
    assert_int_equal(row.runs, 50 + 49);
}

/* A frequent stride is found behind more rare ones than the table has places, and every stride is
 * either in the table or among the others. */
static void test_more_strides_than_places(void **state)
{
    struct spool_stream row = {0};
    uint64_t address = 0, sum = 0;
    (void)state;
    for (int64_t i = 1; i <= 3000; i++) {
        stream_access_as(&row, address);
        address += (uint64_t)(i % 3 ? 100000 + i : 24);
    }
    assert_int_equal(row.strides[0], 24);
    assert_true(row.times[0] > 900 && row.times[0] <= 1000);
    for (unsigned i = 0; i < STREAM_STRIDES; i++) {
        sum += row.times[i];
        assert_true(i == 0 || row.times[i] <= row.times[i - 1]);
    }
    assert_int_equal(sum + row.others, row.count - 1);
}

static void test_addresses_at_both_ends(void **state)
{
    struct spool_stream row = {0};
    (void)state;
    stream_access_as(&row, UINT64_MAX);
    stream_access_as(&row, 0);
    assert_int_equal(row.lo, 0);
    assert_int_equal(row.hi, UINT64_MAX);
    assert_int_equal(row.strides[0], 1);
}

static void test_no_room(void **state)
{
    enum { SIZE = 256 << 10 };
    static struct rows_store store;
    struct spool spool = {.mapped = SIZE};
    unsigned rows = 0;
    (void)state;
    spool.base = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(spool.base, MAP_FAILED);
    struct spool_header *h = spool_header(&spool);
    h->size = h->limit = SIZE;
    h->next = SPOOL_HEADER_SIZE;
    struct spool_counts *c = spool_alloc_as(&spool, sizeof *c);
    assert_true(rows_begin_as(&store, &spool, c, &c->tables[TABLE_STREAMS], 0, STREAM_LAYOUT, 7));
    assert_null(rows_at_as(&store, ROWS_CHUNK * ROWS_CHUNKS));
    while (rows < ROWS_CHUNKS && rows_at_as(&store, rows * ROWS_CHUNK))
        rows++;
    assert_in_range(rows, 1, SIZE / (ROWS_CHUNK * sizeof(struct spool_stream)));
    /* What has room still is where it was. */
    assert_ptr_equal(rows_at_as(&store, 1), (struct spool_stream *)rows_at_as(&store, 0) + 1);
    munmap(spool.base, SIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_access),
        cmocka_unit_test(test_constant_stride),
        cmocka_unit_test(test_two_strides),
        cmocka_unit_test(test_more_strides_than_places),
        cmocka_unit_test(test_addresses_at_both_ends),
        cmocka_unit_test(test_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
