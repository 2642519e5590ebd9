/* A handler without SA_RESTART ends a waiting read() with EINTR. Calls with a mask of their own
 * return only after a handler has run, and not for a signal that is ignored: also if a sample is
 * due at that very moment. Prints how often that was not so.
 *
 * usage: interrupts ROUNDS [stack | number]
 *
 *     stack     not libc's calls, but ones whose number lies on the stack
 *     number    by syscall() */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "spin.h"

long number_on_stack(long a, long b, long c, long d, long e, long f, long number);
__asm__(".text\n"
        ".type number_on_stack, @function\n"
        "number_on_stack:\n"
        ".cfi_startproc\n"
        "    mov %rcx, %r10\n"
        "    mov 8(%rsp), %rax\n"
        "    syscall\n"
        "    ret\n"
        ".cfi_endproc\n"
        ".size number_on_stack, . - number_on_stack\n");

static volatile int caught, restarting, returned;
static int pipes[2];

static void on_alarm(int number, siginfo_t *info, void *context)
{
    const greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *code = (const unsigned char *)r[REG_RIP];
    (void)number;
    (void)info;
    restarting += r[REG_RCX] == r[REG_RIP] + 2 && code[0] == 0x0f && code[1] == 0x05;
    caught++;
}

/* Ends a read() that nothing interrupts: the alarm came before it began, or was lost. */
static void *rescue(void *argument)
{
    for (int last = -1;; last = returned) {
        usleep(20000);
        if (last == returned)
            (void)!write(pipes[1], "x", 1);
    }
    return argument;
}

static void alarm_soon(void)
{
    struct itimerval soon = {{0, 0}, {0, 300}};
    volatile unsigned long r = spin(25000);
    (void)r;
    setitimer(ITIMER_REAL, &soon, NULL);
}

/* ---- calls with a mask of their own ---- */

enum { SUSPEND, PPOLL, PSELECT, EPOLL, EPOLL2, WAYS, MASK_SIZE = 8 };
static int epoll;

static long by_libc(int way, const sigset_t *mask, struct timespec *limit)
{
    struct epoll_event event;
    switch (way) {
    case SUSPEND: return sigsuspend(mask);
    case PPOLL: return ppoll(NULL, 0, limit, mask);
    case PSELECT: return pselect(0, NULL, NULL, NULL, limit, mask);
    case EPOLL: return epoll_pwait(epoll, &event, 1, (int)limit->tv_sec * 1000, mask);
    default: return epoll_pwait2(epoll, &event, 1, limit, mask);
    }
}

static long by_stack(int way, const sigset_t *mask, struct timespec *limit)
{
    if (way == SUSPEND)
        return number_on_stack((long)mask, MASK_SIZE, 0, 0, 0, 0, SYS_rt_sigsuspend);
    return number_on_stack(0, 0, (long)limit, (long)mask, MASK_SIZE, 0, SYS_ppoll);
}

static long by_number(int way, const sigset_t *mask, struct timespec *limit)
{
    struct epoll_event event;
    const struct {
        const sigset_t *mask;
        long size;
    } given = {mask, MASK_SIZE};
    switch (way) {
    case SUSPEND: return syscall(SYS_rt_sigsuspend, mask, (long)MASK_SIZE);
    case PPOLL: return syscall(SYS_ppoll, NULL, 0L, limit, mask, (long)MASK_SIZE);
    case PSELECT: return syscall(SYS_pselect6, 0L, NULL, NULL, NULL, limit, &given);
    case EPOLL:
        return syscall(SYS_epoll_pwait, (long)epoll, &event, 1L, limit->tv_sec * 1000, mask,
                       (long)MASK_SIZE);
    default:
        return syscall(SYS_epoll_pwait2, (long)epoll, &event, 1L, limit, mask, (long)MASK_SIZE);
    }
}

static long (*wait_with)(int way, const sigset_t *mask, struct timespec *limit) = by_libc;

static int early(int rounds, const sigset_t *without)
{
    int count = 0;
    for (int i = 0; i < rounds; i++) {
        struct timespec minute = {60, 0};
        int before = caught;
        alarm_soon();
        wait_with(i % WAYS, without, &minute);
        count += caught == before;
        while (caught == before)
            sigsuspend(without);
    }
    return count;
}

/* The signal is blocked and pending, is let through by the call's mask, and is gone then. */
static int ignored(int rounds, const sigset_t *without)
{
    enum { EACH = 20 };
    int count = 0;
    for (int i = 0; i < rounds * EACH; i++) {
        struct timespec none = {0, 0};
        raise(SIGURG);
        count += wait_with(PPOLL + i % (WAYS - PPOLL), without, &none) != 0;
    }
    return count;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1500;
    sigset_t set, without;
    pthread_t thread;
    char byte;
    struct sigaction action = {.sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO};
    if (argc > 2)
        wait_with = argv[2][0] == 's' ? by_stack : by_number;
    epoll = epoll_create1(0);
    if (pipe(pipes) != 0 || epoll < 0)
        return 1;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, &without);
    pthread_create(&thread, NULL, rescue, NULL);
    pthread_sigmask(SIG_SETMASK, &without, NULL);
    sigaction(SIGALRM, &action, NULL);
    for (int i = 0; i < rounds; i++) {
        alarm_soon();
        (void)!read(pipes[0], &byte, 1);
        returned++;
    }
    sigaddset(&set, SIGURG);
    pthread_sigmask(SIG_BLOCK, &set, &without);
    int first = early(rounds, &without), second = ignored(rounds, &without);
    printf("restarted %d early %d ended %d\n", restarting, first, second);
    return 0;
}
