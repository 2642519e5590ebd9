/* At every instruction of the code cache: the program's state is recovered, and it is one that the
 * processor itself has between two instructions, in the same order. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include <cmocka.h>

#include "callbacks.h"
#include "engine/recover.h"
#include "engine/ring.h"
#include "functions.h"
#include "run.h"
#include "stepping.h"

enum {
    TRAP = 0x100,
    STATUS = 0x8d5 | 0x400,
    ELIDED = 6, /* instructions in a row that have no code: direct jumps */
};

static struct rig rig;
static uint32_t at;      /* the native step that was seen last */
static uint32_t whole;   /* of so many */
static enum { RIP, REGISTERS, ALL } compared; /* hooks borrow what is dead */
static uint64_t places[PLACE_SYSCALL_DONE + 1];
static bool loose;
static char wrong[200];

#define BUDGET (INT64_C(1) << 40)

static bool same(const struct step *s, const greg_t *gregs)
{
    for (int i = 0; compared >= REGISTERS && i < 16; i++)
        if (s->gpr[i] != (uint64_t)gregs[stepping_order[i]])
            return false;
    return s->rip == (uint64_t)gregs[REG_RIP] &&
           (compared < ALL || !((s->flags ^ (uint64_t)gregs[REG_EFL]) & STATUS));
}

/* Within a repeated string instruction, at its own address. */
static bool repeating(const greg_t *gregs)
{
    const uint8_t *code = (const uint8_t *)(uintptr_t)gregs[REG_RIP];
    return stepping_at(at)->rip == (uint64_t)gregs[REG_RIP] && (*code == 0xf2 || *code == 0xf3);
}

/* A loose budget, which is in a register, has counted all steps up to here. */
static bool counted(uint32_t step, const greg_t *cache)
{
    struct engine_progress progress;
    int64_t recovered = rig.thread->budget;
    rig.thread->budget = 0;
    bool known = loose && engine_progress_as(rig.thread, cache, &progress),
         same = rig.thread->budget == recovered;
    rig.thread->budget = recovered;
    return !known || (same && BUDGET - recovered == (int64_t)step + progress.total - progress.done);
}

static void on_trap(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    ucontext_t *u = context;
    gregset_t gregs;
    memcpy(gregs, u->uc_mcontext.gregs, sizeof gregs);
    enum engine_place place = engine_recover_as(rig.thread, gregs);
    places[place]++;
    if (place != PLACE_BOUNDARY && place != PLACE_CORE)
        return;
    if (repeating(gregs))
        return;
    for (uint32_t i = at; i < whole && i <= at + ELIDED; i++)
        if (same(stepping_at(i), gregs) && counted(i, u->uc_mcontext.gregs)) {
            at = i;
            return;
        }
    if (!*wrong)
        snprintf(wrong, sizeof wrong, "place %d after step %u of %u: at %llx, should be %lx",
                 (int)place, at, whole, gregs[REG_RIP], stepping_at(at)->rip);
}

static void walk(const struct function *f, const char *tool)
{
    struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK }, old;
    whole = stepping_run(&rig, f->call, f->steps);
    /* Twice: cold, with all that the dispatcher does, then warm. */
    for (int round = 0; round < 2; round++) {
        stepping_prepare(&rig, f->call, f->steps);
        rig.thread->budget = BUDGET;
        rig.thread->rflags |= TRAP;
        if (rig.thread->ring_base) /* so that it fills on the way */
            rig.thread->ring = rig.thread->ring_base + RING_SIZE - 256;
        *wrong = 0;
        at = 0;
        sigaction(SIGTRAP, &action, &old);
        engine_run_as(rig.thread);
        sigaction(SIGTRAP, &old, NULL);
        if (*wrong)
            fail_msg("%s, %s: %s", tool, f->name, wrong);
        assert_int_equal(rig.thread->stop, STOP_ADDRESS);
        assert_true(at + 20 > whole);
    }
}

/* Of all functions with no tool and no budget; else, in turn, of every third one. */
static void every_place_of(const char *tool, struct engine_config config)
{
    enum { SHARE = 3 };
    static unsigned turn;
    bool all = !strcmp(tool, "null") && !config.budget && !config.paired;
    unsigned number = turn++;
    memset(places, 0, sizeof places);
    config.tools = tool_set_of(tool_named(tool));
    rig_make(&rig, &config);
    for (const struct function *f = functions; f->name; f++)
        if (f->steps && (number++ % SHARE == 0 || all))
            walk(f, tool);
    assert_int_equal(places[PLACE_NATIVE], 0);
    assert_true(places[PLACE_BOUNDARY] > 1000);
    rig_free(&rig);
    stepping_free();
}

static void every_place(const char *tool, bool budget)
{
    every_place_of(tool, (struct engine_config){ .budget = budget });
}

static void without_a_tool(void **state)
{
    (void)state;
    compared = ALL;
    every_place("null", false);
    assert_true(places[PLACE_BOUNDARY] > places[PLACE_BETWEEN]);
}

static void with_counters(void **state)
{
    (void)state;
    compared = RIP;
    every_place("blocks", false);
}

static void with_a_stolen_register(void **state)
{
    (void)state;
    compared = REGISTERS;
    every_place("path", false);
    assert_true(places[PLACE_CORE] > 100);
    every_place("written", false);
    every_place("times", false);
}

static void with_a_budget(void **state)
{
    (void)state;
    compared = REGISTERS;
    every_place("null", true);
}

static void with_a_loose_budget(void **state)
{
    (void)state;
    compared = REGISTERS;
    loose = true;
    every_place_of("null", (struct engine_config){ .budget = true, .loose = true });
    compared = RIP;
    every_place_of("blocks", (struct engine_config){ .budget = true, .loose = true });
    every_place_of("results", (struct engine_config){ .budget = true, .loose = true });
    assert_true(places[PLACE_CORE] > 100);
    every_place_of("gates", (struct engine_config){.budget = true, .loose = true, .shared = true});
    assert_true(gated.asked && gated.observed < gated.blocks * 9 / 10 && !gated.wrong);
    loose = false;
}

static void with_paired_calls(void **state)
{
    (void)state;
    struct engine_config config = { .paired = true };
    compared = ALL;
    every_place_of("null", config);
    compared = REGISTERS;
    every_place_of("path", config);
    config.budget = true;
    every_place_of("null", config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_tool),
        cmocka_unit_test(with_counters),
        cmocka_unit_test(with_a_stolen_register),
        cmocka_unit_test(with_a_budget),
        cmocka_unit_test(with_a_loose_budget),
        cmocka_unit_test(with_paired_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
