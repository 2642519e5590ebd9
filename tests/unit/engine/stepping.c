#include "stepping.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <ucontext.h>

#include <cmocka.h>

enum { STEPS = 1 << 15 };

static struct step *steps;
static volatile uint32_t taken;
static struct sigaction old;

const int stepping_order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                REG_R12, REG_R13, REG_R14, REG_R15};

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
        s->flags = (uint64_t)u->uc_mcontext.gregs[REG_EFL];
        for (int i = 0; i < 16; i++)
            s->gpr[i] = (uint64_t)u->uc_mcontext.gregs[stepping_order[i]];
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

void stepping_apart(void)
{
    static uint8_t stack[1 << 16];
    stack_t apart = { .ss_sp = stack, .ss_size = sizeof stack };
    sigaltstack(&apart, NULL);
}

void stepping_prepare(struct rig *r, uint64_t (*fn)(uint64_t), uint64_t n)
{
    rig_prepare(r, (const void *)(uintptr_t)fn, n, 0, 0, 0);
    r->thread->gpr[ENGINE_R11] = r->thread->rip;
}

uint32_t stepping_run(struct rig *r, uint64_t (*fn)(uint64_t), uint64_t n)
{
    if (!steps) {
        struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK };
        stepping_apart();
        steps = calloc(STEPS, sizeof *steps);
        assert_non_null(steps);
        sigaction(SIGTRAP, &action, &old);
    }
    fn(n); /* binds what is bound lazily */
    fn(n);
    stepping_prepare(r, fn, n);
    taken = 0;
    step_natively(r->thread);
    return taken;
}

const struct step *stepping_at(uint32_t number)
{
    return &steps[number];
}

void stepping_free(void)
{
    sigaction(SIGTRAP, &old, NULL);
    free(steps);
    steps = NULL;
}
