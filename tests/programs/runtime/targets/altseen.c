/* What programs see of their alternate signal stacks, line by line: of stacks that are set, asked
 * for, in use, left by siglongjmp, switched off, refused, only readable, and given away; natively
 * and under a profiler the same. With signals all the while. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "spin.h"

enum { SIZE = 65536, BRIEF = 8000000, LONG = 30000000, DISARMS = INT_MIN /* SS_AUTODISARM */ };

static unsigned char *memory; /* of the stack that is set */
static sigjmp_buf back;
static volatile int depth;
static const char *volatile doing;

static int is_on(const void *at)
{
    return (uintptr_t)at - (uintptr_t)memory < SIZE;
}

static void work(void)
{
    volatile unsigned long r = spin(BRIEF);
    (void)r;
}

static void show(const char *what)
{
    stack_t now = {0};
    int result = sigaltstack(NULL, &now);
    printf("%s: %d, at %d, size %zu, flags %x\n", what, result, now.ss_sp == memory, now.ss_size,
           (unsigned)now.ss_flags);
}

/* The handler's frame, arguments, and what it is told of the interrupted context. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    const ucontext_t *u = context;
    volatile int here;
    depth++;
    printf("%s: signal %d of %d, code %d, frame on it %d, info %d, context %d, vectors %d, "
           "interrupted on it %d, depth %d\n",
           doing, number, info->si_signo, info->si_code, is_on((const void *)&here), is_on(info),
           is_on(u), is_on(u->uc_mcontext.fpregs),
           is_on((const void *)u->uc_mcontext.gregs[REG_RSP]), depth);
    show("inside");
    work();
    stack_t none = {.ss_flags = SS_DISABLE};
    int result = sigaltstack(&none, NULL);
    printf("switched off inside: %d %d\n", result, result ? errno : 0);
    if (depth < 3 && number == SIGUSR1)
        raise(SIGUSR2);
    depth--;
    if (!strcmp(doing, "jumps"))
        siglongjmp(back, 1);
}

static void set(void *at, size_t size, int flags, const char *what)
{
    stack_t old = {0}, stack = {.ss_sp = at, .ss_size = size, .ss_flags = flags};
    int result = sigaltstack(&stack, &old);
    printf("%s: %d %d, before: at %d, size %zu, flags %x\n", what, result, result ? errno : 0,
           old.ss_sp == memory, old.ss_size, (unsigned)old.ss_flags);
}

static void handle(int number, int flags)
{
    struct sigaction old, action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags};
    sigaction(number, &action, NULL);
    sigaction(number, NULL, &old);
    printf("action of %d: handler %d, flags %x, mask %d\n", number, old.sa_sigaction == on_signal,
           (unsigned)old.sa_flags &
               (unsigned)(SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER | SA_RESETHAND),
           sigismember(&old.sa_mask, SIGTRAP));
}

static void once(const char *what)
{
    doing = what;
    work();
    raise(SIGUSR1);
    work();
}

static void vectors(void)
{
    double sum[8] = {0}, x = 1;
    doing = "vectors";
    for (int i = 0; i < 8; i++) {
        x *= 1.25;
        sum[i] = x;
        if (i == 4)
            raise(SIGUSR2);
    }
    printf("sums %.3f %.3f\n", sum[4], sum[7]);
}

static void refused(void)
{
    errno = 0;
    set(memory, 1024, 0, "too small");
    set(memory, SIZE, 0x40, "odd flags");
    long result = syscall(SYS_sigaltstack, (void *)16, NULL);
    printf("bad pointer: %ld %d\n", result, errno);
    show("after that");
}

/* Nothing may write to it, though a signal is pending when the handler returns. */
static void on_read_only(int number)
{
    unsigned long rounds = LONG;
    (void)number;
    mprotect(memory, SIZE, PROT_READ);
    __asm__ volatile("1: decq %0; jnz 1b" : "+r"(rounds) : : "cc");
}

static void read_only(void)
{
    struct sigaction action = {.sa_handler = on_read_only, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR2, &action, NULL);
    raise(SIGUSR2);
    work();
    mprotect(memory, SIZE, PROT_READ | PROT_WRITE);
    puts("only readable: back");
}

/* The stack is freed, and its memory used for something else, while it is still set. */
static void given_away(void)
{
    size_t changed = 0;
    memset(memory, 0xa5, SIZE);
    work();
    for (size_t i = 0; i < SIZE; i++)
        changed += memory[i] != 0xa5;
    printf("given away: %zu bytes changed\n", changed);
    munmap(memory, SIZE);
    work();
    puts("unmapped: back");
}

static void all(void)
{
    memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    show("first");
    handle(SIGUSR1, SA_ONSTACK);
    handle(SIGUSR2, SA_ONSTACK | SA_NODEFER);
    once("none is set");
    set(memory, SIZE, 0, "set");
    show("then");
    once("set");
    vectors();
    if (!sigsetjmp(back, 1))
        once("jumps");
    show("after the jump");
    once("again");
    handle(SIGUSR2, 0);
    once("one without");
    handle(SIGUSR1, (int)(SA_ONSTACK | SA_RESETHAND));
    once("reset");
    struct sigaction old;
    sigaction(SIGUSR1, NULL, &old);
    printf("default after that: %d\n", old.sa_handler == SIG_DFL);
    refused();
    handle(SIGUSR1, SA_ONSTACK);
    set(NULL, 0, SS_DISABLE, "off");
    show("off");
    once("off");
    set(memory, SIZE, DISARMS, "disarms itself");
    once("disarms itself");
    show("after it");
    set(memory, SIZE, 0, "on");
    read_only();
    given_away();
}

static void *thread(void *unused)
{
    all();
    return unused;
}

int main(void)
{
    pthread_t other;
    setvbuf(stdout, NULL, _IOLBF, 1 << 16);
    all();
    set(NULL, 0, SS_DISABLE, "main's off");
    if (pthread_create(&other, NULL, thread, NULL) || pthread_join(other, NULL))
        return 1;
    signal(SIGUSR1, SIG_DFL);
    signal(SIGUSR2, SIG_DFL);
    fflush(stdout);
    return 0;
}
