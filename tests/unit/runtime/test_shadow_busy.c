/* A trigger that comes while another thread decides about a shadow makes none, and is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "alone.h"
#include "runtime/carrier/shadow/shadow_monitor.h"

enum { DEPTH = 100, STACK = 1 << 20 };

static void test_counted(void **state)
{
    struct rt_thread *t = alone_begin(DEPTH, 0, __builtin_frame_address(0), STACK);
    struct spool_shadows *record = spool_alloc_as(&guest.spool, sizeof *record);
    (void)state;
    assert_non_null(t);
    assert_non_null(record);
    shadow_monitor.busy = 1;
    assert_true(shadow_take_as(t, NULL, false)); /* before there is a record */
    shadow_monitor.record = record;
    assert_true(shadow_take_as(t, NULL, false));
    assert_int_equal(shadow_monitor.busy, 1);
    for (unsigned why = 0; why < DECLINE_COUNT; why++)
        assert_int_equal(record->declined[why], why == DECLINE_BUSY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
