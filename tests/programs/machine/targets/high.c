/* A stack pointer, and another register, that hold kernel addresses. The loads by them fault; what
 * interprets the program's moments must not know more than the program.
 *
 * usage: high SECONDS ADDRESS ADDRESS        (of its CPU time; hexadecimal)
 *
 * Prints how often it was stopped. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

/* The caller's stack pointer is in r8 meanwhile. */
__asm__(".text\n"
        ".globl high_spin\n"
        ".type high_spin, @function\n"
        "high_spin:\n"
        "    mov %rsp, %r8\n"
        "    mov %rdi, %rsp\n"
        "    mov $36, %ecx\n"
        "1:  pause\n"
        "    dec %ecx\n"
        "    jnz 1b\n"
        "    mov (%rdx), %r9\n"
        "    mov (%rsp), %rax\n" /* a fault */
        "    mov (%rsi), %r10\n"
        ".globl high_end\n"
        "high_end:\n"
        "    mov %r8, %rsp\n"
        "    ret\n"
        ".size high_spin, . - high_spin\n");

void high_spin(unsigned long stack, unsigned long other, const unsigned long *own);
extern const char high_end[];

static unsigned long faults;

static void skip(int signal, siginfo_t *info, void *context)
{
    ucontext_t *c = context;
    (void)signal, (void)info;
    faults++;
    c->uc_mcontext.gregs[REG_RIP] = (greg_t)high_end;
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    static char stack[1 << 16];
    static const unsigned long own = 0x5eed;
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    const struct sigaction action = {.sa_sigaction = skip, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    if (argc != 4 || sigaltstack(&other, NULL) || sigaction(SIGSEGV, &action, NULL))
        return 2;
    unsigned long first = strtoul(argv[2], NULL, 16), second = strtoul(argv[3], NULL, 16);
    while (cpu_seconds() < atof(argv[1]))
        for (int i = 0; i < 1000; i++)
            high_spin(first, second, &own);
    printf("%lu\n", faults);
    return 0;
}
