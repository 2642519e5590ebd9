/* What is appended arrives: all of it, once, in the order of execution, however often the ring
 * fills. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "callbacks.h"
#include "engine/ring.h"
#include "functions.h"
#include "run.h"

/* A block is so many instructions long here, that all kinds of ends and of live flags occur. */
__attribute__((noinline, used)) static uint64_t chain(uint64_t n)
{
    uint64_t a = 0;
    __asm__ volatile("    xorl %k0, %k0\n"
                     "    testq %1, %1\n"
                     "    jz 9f\n"
                     "    movq %1, %%rcx\n"
                     "    clc\n"
                     "1:  adcq %%rcx, %0\n"       /* the carry is live where this block begins */
                     "    leaq 1(%0), %0\n"
                     "    jmp 2f\n"               /* upwards: these do not look */
                     "2:  jmp 3f\n"
                     "3:  jc 4f\n"
                     "4:  jmp 5f\n"
                     "5:  loop 1b\n"
                     "9:\n"
                     : "=&r"(a)
                     : "r"(n)
                     : "rcx", "cc", "memory");
    return a;
}

static void all_arrives(void **state)
{
    (void)state;
    struct rig r;
    memset(&flushed, 0, sizeof flushed);
    rig_make(&r, &(struct engine_config){ .tools = tool_set_of(&tool_appending) });
    for (int round = 0; round < 2; round++)
        for (const struct function *f = functions; f->name; f++) {
            uint64_t n = f->most / 2;
            assert_int_equal(rig_call(&r, (const void *)(uintptr_t)f->call, n, 0, 0, 0),
                             f->call(n));
        }
    enum { TURNS = 300000 };
    assert_int_equal(rig_call(&r, (const void *)(uintptr_t)chain, TURNS, 0, 0, 0), chain(TURNS));
    assert_int_equal(flushed.wrong, 0);
    assert_true(flushed.records > 5 * TURNS);
    assert_int_equal(flushed.records, *hook_counter(r.thread, 0));
    assert_int_equal(flushed.instructions, *hook_counter(r.thread, 1));
    assert_true(flushed.times > flushed.records * 8 / (RING_SIZE + RING_SLACK));
    assert_true(flushed.largest > RING_SIZE && flushed.largest < RING_SIZE + RING_SLACK);
    rig_free(&r);
}

/* A budget hands over what it ran, and says that it ends there. */
static void budgets_end(void **state)
{
    (void)state;
    struct rig r;
    rig_make(&r, &(struct engine_config){ .tools = tool_set_of(&tool_appending), .budget = true });
    for (int64_t budget = 1; budget < 3000; budget += 7) {
        memset(&flushed, 0, sizeof flushed);
        rig_prepare(&r, (const void *)(uintptr_t)chain, 100000, 0, 0, 0);
        r.thread->budget = budget;
        assert_int_equal(engine_run_as(r.thread), STOP_BUDGET);
        assert_int_equal(flushed.instructions, budget);
        assert_int_equal(flushed.ends, 1);
        assert_int_equal(flushed.wrong, 0);
    }
    rig_free(&r);
}

/* A loose one is counted when the ring is emptied, and says by how much it is over: by some blocks,
 * however large it was. */
static void loose_budgets_end(void **state)
{
    enum { TURNS = 100000, OVER = 512 };
    int64_t runs = 0, sum = 0;
    struct rig r;
    (void)state;
    rig_make(&r, &(struct engine_config){
                     .tools = tool_set_of(&tool_appending), .budget = true, .loose = true});
    memset(&flushed, 0, sizeof flushed);
    rig_prepare(&r, (const void *)(uintptr_t)chain, TURNS, 0, 0, 0);
    for (int64_t budget = 1; r.thread->stop != STOP_ADDRESS; budget += budget / 4 + 1) {
        r.thread->budget = budget;
        engine_run_as(r.thread);
        assert_int_equal(flushed.instructions, sum + budget - r.thread->budget);
        sum = (int64_t)flushed.instructions;
        if (r.thread->stop == STOP_BUDGET)
            assert_in_range(-r.thread->budget, 0, OVER);
        runs++;
    }
    assert_true(runs > 20);
    assert_int_equal(r.thread->gpr[ENGINE_RAX], chain(TURNS));
    assert_int_equal(flushed.wrong, 0);
    rig_free(&r);
}

/* Each thread has a ring of its own; giving the area back empties it. */
static void threads_have_their_own(void **state)
{
    (void)state;
    struct rig a, b;
    rig_make(&a, &(struct engine_config){ .tools = tool_set_of(&tool_appending) });
    rig_share(&b, &a);
    assert_true(a.thread->ring_base && b.thread->ring_base);
    assert_int_not_equal(a.thread->ring_base, b.thread->ring_base);
    assert_int_equal((uint32_t)(b.thread->ring_base + RING_SIZE), UINT32_C(1) << 31);
    memset(&flushed, 0, sizeof flushed);
    rig_unshare(&b);
    assert_int_equal(flushed.ends, 1);
    rig_share(&b, &a);
    assert_int_equal(b.thread->ring, b.thread->ring_base);
    assert_int_equal(rig_call(&b, (const void *)(uintptr_t)chain, 1000, 0, 0, 0), chain(1000));
    assert_int_equal(flushed.wrong, 0);
    rig_unshare(&b);
    rig_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_arrives),
        cmocka_unit_test(budgets_end),
        cmocka_unit_test(loose_budgets_end),
        cmocka_unit_test(threads_have_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
