/* A budget ends after exactly so many instructions: the state then is what the processor's own
 * single-stepping gives. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <cmocka.h>

#include "functions.h"
#include "run.h"

enum { STEPS = 10000 };

/* General registers and rip before each instruction of a native run, by the trap flag. */
struct step {
    uint64_t rip, gpr[16];
};
static struct step *steps;
static volatile uint32_t taken;
static struct rig rig;

/* In the order of encodings. */
static const int order[16] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                               REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15 };

static void on_trap(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    ucontext_t *u = context;
    /* A repeated string instruction traps after each element. */
    if (taken && steps[taken - 1].rip == (uint64_t)u->uc_mcontext.gregs[REG_RIP])
        return;
    if (taken < STEPS) {
        struct step *s = &steps[taken++];
        s->rip = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
        for (int i = 0; i < 16; i++)
            s->gpr[i] = (uint64_t)u->uc_mcontext.gregs[order[i]];
    } else {
        u->uc_mcontext.gregs[REG_EFL] &= ~0x100;
    }
}

/* Runs fn natively from the state that rig_prepare made, with the trap flag: on its stack, until it
 * returns to the last line here. steps[0] is the function's first instruction. */
__attribute__((noipa)) static void step_natively(struct engine_thread *t)
{
    uint64_t *top = (uint64_t *)(uintptr_t)t->gpr[ENGINE_RSP];
    __asm__ volatile("    leaq 1f(%%rip), %%rax\n"
                     "    movq %%rax, (%1)\n"
                     "    pushq %%rbx\n    pushq %%rbp\n    pushq %%r12\n"
                     "    pushq %%r13\n    pushq %%r14\n    pushq %%r15\n"
                     "    movq %%rsp, 16(%1)\n"
                     "    movq %1, %%rsp\n"
                     "    movq %2, %%rdi\n"
                     "    movq %0, %%r11\n"
                     "    xorl %%eax, %%eax\n    xorl %%ecx, %%ecx\n    xorl %%edx, %%edx\n"
                     "    xorl %%ebx, %%ebx\n    xorl %%ebp, %%ebp\n    xorl %%esi, %%esi\n"
                     "    xorl %%r8d, %%r8d\n    xorl %%r9d, %%r9d\n    xorl %%r10d, %%r10d\n"
                     "    xorl %%r12d, %%r12d\n    xorl %%r13d, %%r13d\n    xorl %%r14d, %%r14d\n"
                     "    xorl %%r15d, %%r15d\n"
                     "    pushq $0x302\n"
                     "    popfq\n"
                     "    jmp *%%r11\n"
                     "1:  pushfq\n"
                     "    andq $-257, (%%rsp)\n"
                     "    popfq\n"
                     "    movq 8(%%rsp), %%rsp\n"
                     "    popq %%r15\n    popq %%r14\n    popq %%r13\n"
                     "    popq %%r12\n    popq %%rbp\n    popq %%rbx\n"
                     :
                     : "r"(t->rip), "r"(top), "r"(t->gpr[ENGINE_RDI])
                     : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "memory");
}

static void prepare(uint64_t (*fn)(uint64_t), uint64_t n)
{
    rig_prepare(&rig, (const void *)(uintptr_t)fn, n, 0, 0, 0);
    rig.thread->gpr[ENGINE_R11] = rig.thread->rip;
}

static void check(const struct function *f, uint64_t n, uint32_t count)
{
    const struct engine_thread *t = rig.thread;
    const struct step *s = &steps[count];
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
    steps = calloc(STEPS, sizeof *steps);
    struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO }, old;
    sigaction(SIGTRAP, &action, &old);
    for (const struct function *f = functions; f->name; f++) {
        uint64_t n = f->steps;
        if (!n)
            continue;
        f->call(n); /* binds what is bound lazily */
        f->call(n);
        prepare(f->call, n);
        taken = 0;
        step_natively(rig.thread);
        uint32_t whole = taken;
        assert_true(whole > 10);
        for (uint32_t count = 1; count + 8 < whole; count++) {
            prepare(f->call, n);
            rig.thread->budget = count;
            engine_run_as(rig.thread);
            check(f, n, count);
        }
    }
    sigaction(SIGTRAP, &old, NULL);
    free(steps);
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
