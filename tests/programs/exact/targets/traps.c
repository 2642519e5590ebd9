/* A handler that is entered at an instruction of a known function, and calls one. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <ucontext.h>

static volatile uint64_t sink;

__attribute__((noinline)) static void work(void)
{
    sink = sink + 1;
}

static void handler(int number, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    (void)number;
    (void)info;
    work();
    u->uc_mcontext.gregs[REG_RIP] += 2;
}

__attribute__((noinline)) static void trap(void)
{
    __asm__ volatile("ud2" : : : "memory");
    sink = sink + 1;
}

__attribute__((noinline)) static void outer(void)
{
    trap();
    sink = sink + 1;
}

int main(int argc, char **argv)
{
    static char stack[1 << 16];
    struct sigaction action = {.sa_sigaction = handler,
                               .sa_flags = SA_SIGINFO | (argc > 1 ? SA_ONSTACK : 0)};
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    (void)argv;
    sigaltstack(&alternate, NULL);
    sigaction(SIGILL, &action, NULL);
    for (int i = 0; i < 10; i++)
        outer();
    printf("%lu\n", sink);
    return 0;
}
