/* Functions give the same under the engine as natively. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/state.h"
#include "functions.h"
#include "run.h"

static struct rig rig;

static int setup(void **state)
{
    (void)state;
    rig_make(&rig, NULL);
    return 0;
}

static int setup_paired(void **state)
{
    (void)state;
    rig_make(&rig, &(struct engine_config){ .paired = true });
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rig_free(&rig);
    return 0;
}

/* Every function, several times: cold, linked, looked up. */
static void same_results(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++)
        for (const struct function *f = functions; f->name; f++)
            for (uint64_t n = 0; n < f->most; n += 1 + f->most / 7) {
                uint64_t native = f->call(n);
                uint64_t translated = rig_call(&rig, (const void *)(uintptr_t)f->call, n, 0, 0, 0);
                assert_int_equal(rig.thread->stop, STOP_ADDRESS);
                if (native != translated)
                    fail_msg("%s(%lu) is %lx natively, %lx translated", f->name, n, native,
                             translated);
            }
}

/* Warm code runs without the dispatcher. */
static void warm_code_stays_in_the_cache(void **state)
{
    (void)state;
    const void *fn = (const void *)(uintptr_t)functions[0].call;
    for (int i = 0; i < 3; i++)
        rig_call(&rig, fn, 12, 0, 0, 0);
    uint64_t before = rig.thread->dispatches, translated = rig.thread->translated;
    rig_call(&rig, fn, 12, 0, 0, 0);
    assert_int_equal(rig.thread->translated, translated);
    /* the beginning, and the return to where the call ends */
    assert_int_equal(rig.thread->dispatches, before + 2);
}

static uint64_t identity(uint64_t n)
{
    return (uint64_t)syscall(39) + n; /* getpid */
}

static void system_calls_are_shown(void **state)
{
    (void)state;
    uint64_t before = rig.calls;
    assert_int_equal(rig_call(&rig, (const void *)(uintptr_t)identity, 5, 0, 0, 0),
                     (uint64_t)getpid() + 5);
    assert_int_equal(rig.calls, before + 1);
}

static void a_jump_to_nowhere_stops(void **state)
{
    (void)state;
    rig_call(&rig, (const void *)(uintptr_t)16, 0, 0, 0, 0);
    assert_int_equal(rig.thread->stop, STOP_UNREADABLE);
    assert_int_equal(rig.thread->rip, 16);
}

/* What it is given, plus what a transaction that is begun leaves in eax, or 1 << 40 if it is in
 * it. */
uint64_t transaction(uint64_t n);
__asm__(".text\n.type transaction, @function\ntransaction:\n"
        "mov $-1, %rax\n"
        "xbegin 1f\n"
        "movabs $0x10000000000, %rax\n"
        "1: lea (%rax,%rdi), %rax\n"
        "ret\n");

/* Outside a transaction nothing is aborted. */
uint64_t abort_none(uint64_t n);
__asm__(".type abort_none, @function\nabort_none:\n"
        "xabort $7\n"
        "lea 1(%rdi), %rax\n"
        "ret\n");

/* Whatever the processor has: one that has transactions may abort each, and so does the engine. */
static void transactions_abort(void **state)
{
    (void)state;
    bool has = rig.engine->transactions;
    rig.engine->transactions = true;
    for (uint64_t n = 0; n < 3; n++) {
        assert_int_equal(rig_call(&rig, (const void *)(uintptr_t)transaction, n, 0, 0, 0), n);
        assert_int_equal(rig.thread->stop, STOP_ADDRESS);
    }
    if (has)
        assert_int_equal(rig_call(&rig, (const void *)(uintptr_t)abort_none, 4, 0, 0, 0), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(same_results, setup, teardown),
        cmocka_unit_test_setup_teardown(same_results, setup_paired, teardown),
        cmocka_unit_test_setup_teardown(warm_code_stays_in_the_cache, setup_paired, teardown),
        cmocka_unit_test_setup_teardown(warm_code_stays_in_the_cache, setup, teardown),
        cmocka_unit_test_setup_teardown(system_calls_are_shown, setup, teardown),
        cmocka_unit_test_setup_teardown(a_jump_to_nowhere_stops, setup, teardown),
        cmocka_unit_test_setup_teardown(transactions_abort, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
