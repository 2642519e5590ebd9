/* A budget ends after exactly so many instructions: the state then is what the processor's own
 * single-stepping gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "engine/engine.h"
#include "functions.h"
#include "run.h"
#include "stepping.h"

static struct rig rig;

static void check(const struct function *f, uint64_t n, uint32_t count)
{
    const struct engine_thread *t = rig.thread;
    const struct step *s = stepping_at(count);
    assert_int_equal(t->stop, STOP_BUDGET);
    assert_int_equal(t->budget, 0);
    if (t->rip != s->rip)
        fail_msg("%s(%lu) after %u: at %lx instead of %lx", f->name, n, count, t->rip, s->rip);
    for (int i = 0; i < 16; i++)
        if (t->gpr[i] != s->gpr[i])
            fail_msg("%s(%lu) after %u: register %d is %lx instead of %lx", f->name, n, count, i,
                     t->gpr[i], s->gpr[i]);
}

/* Every budget from one instruction to the whole run. */
static void exact_for_every_budget(void **state)
{
    (void)state;
    for (const struct function *f = functions; f->name; f++) {
        uint64_t n = f->steps;
        if (!n)
            continue;
        uint32_t whole = stepping_run(&rig, f->call, n);
        assert_true(whole > 10);
        for (uint32_t count = 1; count + 8 < whole; count++) {
            stepping_prepare(&rig, f->call, n);
            rig.thread->budget = count;
            engine_run_as(rig.thread);
            check(f, n, count);
        }
    }
    stepping_free();
}

static void results_do_not_change(void **state)
{
    (void)state;
    for (const struct function *f = functions; f->name; f++) {
        uint64_t n = f->most / 2, native = f->call(n);
        rig.thread->budget = INT64_MAX;
        assert_int_equal(rig_call(&rig, (const void *)(uintptr_t)f->call, n, 0, 0, 0), native);
        assert_int_equal(rig.thread->stop, STOP_ADDRESS);
    }
}

static void continues_where_it_stopped(void **state)
{
    (void)state;
    for (const struct function *f = functions; f->name; f++) {
        uint64_t n = f->most / 3, native = f->call(n);
        rig_prepare(&rig, (const void *)(uintptr_t)f->call, n, 0, 0, 0);
        uint64_t next = 1;
        do {
            next = next * 37 % 101;
            rig.thread->budget = (int64_t)next;
            engine_run_as(rig.thread);
        } while (rig.thread->stop == STOP_BUDGET);
        assert_int_equal(rig.thread->stop, STOP_ADDRESS);
        assert_int_equal(rig.thread->gpr[ENGINE_RAX], native);
    }
}

/* How many instructions are translated for a burst of so many. */
static uint64_t made_for(const struct function *f, int64_t budget)
{
    rig_prepare(&rig, (const void *)(uintptr_t)f->call, f->most / 2, 0, 0, 0);
    struct engine_figures before = engine_figures_as(rig.engine);
    rig.thread->budget = budget;
    engine_run_as(rig.thread);
    return engine_figures_as(rig.engine).instructions - before.instructions;
}

/* A short burst waits for what is made for it: nothing is made of new code but what it executes, and that once. */
static void makes_what_it_reaches(void **state)
{
    enum { SHORT = 100 };
    (void)state;
    for (const struct function *f = functions; f->name; f++) {
        assert_int_equal(made_for(f, 1), 1);
        assert_int_equal(made_for(f, 1), 0);
        assert_true(made_for(f, SHORT) <= SHORT);
        assert_int_equal(made_for(f, SHORT), 0);
    }
}

static int setup(void **state)
{
    (void)state;
    rig_make(&rig, &(struct engine_config){ .budget = true });
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rig_free(&rig);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(exact_for_every_budget, setup, teardown),
        cmocka_unit_test_setup_teardown(results_do_not_change, setup, teardown),
        cmocka_unit_test_setup_teardown(continues_where_it_stopped, setup, teardown),
        cmocka_unit_test_setup_teardown(makes_what_it_reaches, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
