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

/* Each function in parts of a few instructions; a part may be over its budget by fewer than
 * `over`. */
static void in_parts(int64_t over)
{
    for (const struct function *f = functions; f->name; f++) {
        uint64_t n = f->most / 3, native = f->call(n);
        rig_prepare(&rig, (const void *)(uintptr_t)f->call, n, 0, 0, 0);
        uint64_t next = 1;
        do {
            next = next * 37 % 101;
            rig.thread->budget = (int64_t)next;
            engine_run_as(rig.thread);
            assert_true(rig.thread->budget > -over);
        } while (rig.thread->stop == STOP_BUDGET);
        assert_int_equal(rig.thread->stop, STOP_ADDRESS);
        assert_int_equal(rig.thread->gpr[ENGINE_RAX], native);
    }
}

static void continues_where_it_stopped(void **state)
{
    (void)state;
    in_parts(1);
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

/* A short burst waits for what is made for it: nothing is made of new code but what it executes,
 * and that once. */
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

/* A loose budget stops where the processor's own stepping comes, too, and says how many
 * instructions that was. */
static void loose_says_where(void **state)
{
    uint32_t stops = 0;
    (void)state;
    for (const struct function *f = functions; f->name; f++) {
        uint64_t n = f->steps;
        if (!n)
            continue;
        uint32_t whole = stepping_run(&rig, f->call, n);
        for (uint32_t count = 1; count + 8 < whole; count++) {
            stepping_prepare(&rig, f->call, n);
            rig.thread->budget = count;
            engine_run_as(rig.thread);
            if (rig.thread->stop == STOP_ADDRESS)
                continue;
            int64_t over = rig.thread->budget;
            assert_true(over <= 0);
            assert_true(count - over < whole);
            rig.thread->budget = 0;
            check(f, n, (uint32_t)(count - over));
            stops++;
        }
    }
    assert_true(stops > 1000);
    stepping_free();
}

/* No loop goes round without a look: it stops within so many instructions, wherever it began. */
static void loose_stops_soon(void **state)
{
    (void)state;
    in_parts(512);
}

static int setup_loose(void **state)
{
    (void)state;
    rig_make(&rig, &(struct engine_config){ .budget = true, .loose = true });
    return 0;
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
        cmocka_unit_test_setup_teardown(loose_says_where, setup_loose, teardown),
        cmocka_unit_test_setup_teardown(loose_stops_soon, setup_loose, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
