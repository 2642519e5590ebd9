/* Instructions that the engine cannot translate, next to those that fault or trap, which must do so
 * once, with the flags and masks of the program. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <ucontext.h>

#include "../../exact/targets/transfers.h"

enum { TF = 0x100 };
static volatile uint64_t sink;
static volatile int faults, traps, steps, wrong, alarms;

static void look(const ucontext_t *u)
{
    sigset_t now;
    sigprocmask(SIG_BLOCK, NULL, &now);
    wrong += (u->uc_mcontext.gregs[REG_EFL] & TF && !steps) || sigismember(&now, SIGUSR2) ||
             sigismember(&u->uc_sigmask, SIGTRAP) || sigismember(&u->uc_sigmask, SIGUSR2);
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    (void)signal;
    (void)info;
    look(u);
    faults++;
    u->uc_mcontext.gregs[REG_RIP] += 2; /* int n */
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    (void)signal;
    if (info->si_code != 2 /* TRAP_TRACE */) {
        look(u);
        traps++;
        return;
    }
    if (++steps % 4 == 0)
        u->uc_mcontext.gregs[REG_EFL] &= ~TF;
}

static void on_alarm(int signal)
{
    (void)signal;
    alarms++;
}

__attribute__((noinline)) static void work(int rounds)
{
    for (int i = 0; i < rounds; i++)
        sink = sink + 1;
}

static uint64_t flags(void)
{
    uint64_t value;
    __asm__ volatile("sub $128, %%rsp; pushfq; popq %0; pushq %0; popfq; add $128, %%rsp"
                     : "=r"(value)
                     :
                     : "memory", "cc");
    return value;
}

static void step_myself(void)
{
    __asm__ volatile("sub $128, %%rsp; pushfq; orq $256, (%%rsp); popfq; nop; nop; nop; nop; nop; "
                     "add $128, %%rsp"
                     :
                     :
                     : "memory", "cc");
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 100;
    struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO},
                     trap = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO},
                     alarm = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 3000}, {0, 3000}};
    sigaction(SIGSEGV, &fault, NULL);
    sigaction(SIGTRAP, &trap, NULL);
    sigaction(SIGVTALRM, &alarm, NULL);
    setitimer(ITIMER_VIRTUAL, &often, NULL);
    for (int i = 0; i < rounds; i++) {
        far_return();
        work(150);
        interrupt_return();
        work(150);
        wrong += (flags() & TF) != 0;
        work(150);
        __asm__ volatile("int $0x50");
        work(150);
        if (i % 64 == 0)
            __asm__ volatile("int3");
    }
    int before = steps;
    step_myself();
    printf("%lu %d %d %d %d %d %d\n", sink, faults, traps, before, steps > 0, wrong, alarms > 0);
    return 0;
}
