/* The machine that the tests run on: what is measured is a machine, and no impossible one. Times
 * are not compared: the tests' machine is busy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "calibrate/calibrate.h"
#include "calibrate/timing.h"
#include "collector/machine_file.h"

static void loops_are_timed(void **state)
{
    (void)state;
    struct timing t;
    assert_true(timing_make(&t, 0, 1, NULL));
    struct emit *e = timing_begin(&t);
    for (unsigned i = 0; i < 60; i++)
        emit_alu_rr(e, EMIT_ADD, 8, X86_RAX, X86_RAX);
    double chain = timing_end(&t, 40);
    assert_true(chain > 60 * 0.7 && chain < 60 * 1.5);
    assert_false(t.failed);
    e = timing_begin(&t);
    for (unsigned i = 0; i < 1 << 18; i++)
        emit_nop(e, 9);
    assert_true(timing_end(&t, 1) == 0); /* no room */
    assert_true(t.failed);
    timing_free(&t);
}

static void this_machine_is_one(void **state)
{
    (void)state;
    struct machine m, again;
    struct err e = {0};
    char path[PATH_MAX], value[64];
    bool measured[sizeof m.given] = {false};
    unsigned count = 0;
    snprintf(path, sizeof path, MACHINES "/%s.conf", calibrate_nearest());
    assert_true(machine_file_load(path, NULL, &m, &e));
    if (!calibrate(&m, measured, 0.5, &e))
        fail_msg("%s", e.message);
    if (!machine_check(&m, &e))
        fail_msg("%s", e.message);
    machine_init(&again);
    for (unsigned i = 0; machine_key_at(i); i++) {
        machine_value(&m, machine_key_at(i), value, sizeof value);
        if (!machine_set(&again, machine_key_at(i)->name, value, false, &e))
            fail_msg("%s", e.message);
        count += measured[i];
    }
    memset(m.given, 1, sizeof m.given);
    memset(again.given, 1, sizeof again.given);
    assert_memory_equal(&m, &again, sizeof m);
    assert_true(count > 40);
    assert_in_range(m.latency[UOP_ALU], 1, 2);
    assert_in_range(m.latency[UOP_MUL], 2, 8);
    assert_in_range(m.dispatch_width, 2, 16);
    assert_in_range(m.l1d_latency, 2, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_are_timed),
        cmocka_unit_test(this_machine_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
