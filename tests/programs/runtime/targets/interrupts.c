/* A handler without SA_RESTART ends a waiting read() with EINTR, and sigsuspend() and ppoll()
 * return only after a handler has run: also if a sample is due at that very moment. Prints how
 * often that was not so.
 *
 * usage: interrupts ROUNDS [stack]     stack: not libc's calls, but ones whose number lies on the stack */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static void wait_with(const sigset_t *mask, bool suspend, bool stack)
{
    struct timespec minute = {60, 0};
    if (suspend && stack)
        number_on_stack((long)mask, _NSIG / 8, 0, 0, 0, 0, SYS_rt_sigsuspend);
    else if (stack)
        number_on_stack(0, 0, (long)&minute, (long)mask, _NSIG / 8, 0, SYS_ppoll);
    else if (suspend)
        sigsuspend(mask);
    else
        ppoll(NULL, 0, &minute, mask);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1500, early = 0;
    bool stack = argc > 2;
    sigset_t set, without;
    pthread_t thread;
    char byte;
    struct sigaction action = {.sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO};
    if (pipe(pipes) != 0)
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
    pthread_sigmask(SIG_BLOCK, &set, &without);
    for (int i = 0; i < rounds; i++) {
        int before = caught;
        alarm_soon();
        wait_with(&without, i % 2, stack);
        early += caught == before;
        while (caught == before)
            sigsuspend(&without);
    }
    printf("restarted %d early %d\n", restarting, early);
    return 0;
}
