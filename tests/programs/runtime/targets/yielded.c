/* Who reads SIGTRAP from a descriptor blocks it for the kernel, too: nothing of a profiler's may be
 * pending there, whoever begins while it is blocked. Prints how often a signal was, of each
 * kind. */
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <pthread.h>
#include <unistd.h>

#include "spin.h"

enum { ROUNDS = 40, STACK = 1 << 16 };
static char *self;
static sigset_t trap;

/* As the kernel says. */
static int is_pending(void)
{
    uint64_t pending = 0;
    volatile unsigned long r = spin(300000);
    (void)r;
    syscall(SYS_rt_sigpending, &pending, sizeof pending);
    return pending >> (SIGTRAP - 1) & 1;
}

static void *look(void *result)
{
    *(int *)result = is_pending();
    return NULL;
}

static int in_thread(void)
{
    pthread_t thread;
    int result = 0;
    pthread_create(&thread, NULL, look, &result);
    pthread_join(thread, NULL);
    return result;
}

static int status_of(pid_t pid)
{
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

static int in_child(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(is_pending());
    return status_of(pid);
}

static int ends_with(void *argument)
{
    (void)argument;
    _exit(in_child() | is_pending());
}

/* A copy that has a child itself. */
static int in_copy(void)
{
    static uint8_t stack[STACK];
    return status_of(clone(ends_with, stack + STACK, SIGCHLD, NULL));
}

/* It blocks the signal itself, and executes this program, which looks. */
static int in_vforked(void)
{
    sigprocmask(SIG_UNBLOCK, &trap, NULL);
    pid_t pid = vfork();
    if (pid == 0) {
        sigprocmask(SIG_BLOCK, &trap, NULL);
        volatile unsigned long r = spin(300000);
        (void)r;
        execl(self, self, "look", NULL);
        _exit(100);
    }
    int status = status_of(pid);
    sigprocmask(SIG_BLOCK, &trap, NULL);
    return status;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*look)(void);
    } kinds[] = {{"itself", is_pending}, {"thread", in_thread}, {"child", in_child},
                 {"copy", in_copy}, {"vforked", in_vforked}};
    self = argv[0];
    if (argc > 1)
        return is_pending();
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    sigprocmask(SIG_BLOCK, &trap, NULL);
    signalfd(-1, &trap, SFD_CLOEXEC);
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        int pending = 0;
        for (int round = 0; round < ROUNDS; round++)
            pending += kinds[i].look();
        printf("%s: %d\n", kinds[i].name, pending);
    }
    return 0;
}
