/* What children see of ignored and blocked signals, however they are made; and the older calls that
 * set handlers and masks. */
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

extern char **environ;
sighandler_t __sysv_signal(int number, sighandler_t handler);
static jmp_buf again;
static volatile int caught;

static void print_state(const char *how)
{
    sigset_t set;
    struct sigaction action;
    sigprocmask(SIG_BLOCK, NULL, &set);
    sigaction(SIGTRAP, NULL, &action);
    printf("%s: blocked %d ignored %d default %d\n", how, sigismember(&set, SIGTRAP),
           action.sa_handler == SIG_IGN, action.sa_handler == SIG_DFL);
    fflush(stdout);
}

static void on_trap(int number)
{
    (void)number;
    caught++;
}

static void jump(int number)
{
    (void)number;
    longjmp(again, 1);
}

static void children(char *self, char *how)
{
    char command[4096];
    char *arguments[] = {self, how, NULL};
    pid_t pid;
    fflush(stdout);
    if (posix_spawn(&pid, self, NULL, NULL, arguments, environ) == 0)
        waitpid(pid, NULL, 0);
    if ((pid = vfork()) == 0) {
        execve("/nonexistent", arguments, environ);
        execv(self, arguments);
        _exit(1);
    }
    waitpid(pid, NULL, 0);
    if ((pid = vfork()) == 0) {
        signal(SIGTRAP, SIG_DFL);
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execv(self, arguments);
        _exit(1);
    }
    waitpid(pid, NULL, 0);
    if ((pid = fork()) == 0) {
        execv(self, arguments);
        _exit(1);
    }
    waitpid(pid, NULL, 0);
    snprintf(command, sizeof command, "%s %s", self, how);
    if (system(command) != 0)
        puts("system failed");
    print_state("the parent");
}

static void old_calls(void)
{
    volatile unsigned long r;
    for (int i = 1; i < 32; i++)
        __sysv_signal(i, SIG_DFL);
    r = spin(100000000);
    printf("sigset %d\n", sigset(SIGTRAP, on_trap) == SIG_DFL);
    r = spin(100000000);
    raise(SIGTRAP);
    printf("hold %d\n", sigset(SIGTRAP, SIG_HOLD) == on_trap);
    print_state("held");
    printf("release %d\n", sigset(SIGTRAP, SIG_IGN) == SIG_HOLD);
    r = spin(100000000);
    raise(SIGTRAP);
    sighold(SIGTRAP);
    print_state("sighold");
    sigrelse(SIGTRAP);
    print_state("sigrelse");
    sigignore(SIGTRAP);
    siginterrupt(SIGTRAP, 1);
    r = spin(100000000);
    (void)r;
    printf("caught %d\n", caught);
}

int main(int argc, char **argv)
{
    sigset_t all, trap;
    if (argc > 1) {
        print_state(argv[1]);
        return 0;
    }
    old_calls();
    signal(SIGTRAP, SIG_DFL);
    children(argv[0], "plain");
    signal(SIGTRAP, SIG_IGN);
    children(argv[0], "ignored");
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    children(argv[0], "blocked");
    sigemptyset(&trap);
    sigprocmask(SIG_SETMASK, &trap, NULL);
    sigaddset(&trap, SIGTRAP);
    signal(SIGTRAP, jump); /* blocks SIGTRAP while it runs: to be unblocked after the jump */
    for (volatile int i = 0; i < 3; i++)
        if (setjmp(again) == 0)
            __asm__ volatile("int3");
        else
            sigprocmask(SIG_UNBLOCK, &trap, NULL);
    puts("end");
    return 0;
}
