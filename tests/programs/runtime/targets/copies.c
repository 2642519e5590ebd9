/* Children that nobody is told of (raw forks), and children in their memory, that set SIGTRAP's
 * action themselves, and what they make then. Each line is what such a child has seen. */
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

enum { STACK = 1 << 16, WORK = 30000000 };

static volatile int handled, on_stack;
static _Alignas(64) char stack[STACK];

static void on_trap(int signal)
{
    uint64_t here = (uint64_t)__builtin_frame_address(0);
    (void)signal;
    handled++;
    on_stack += here - (uint64_t)stack < STACK;
}

static void act(int signal, void (*handler)(int), int flags, int masks)
{
    struct sigaction a = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&a.sa_mask);
    if (masks)
        sigaddset(&a.sa_mask, SIGTRAP);
    sigaction(signal, &a, NULL);
}

static void say(const char *text)
{
    if (write(1, text, strlen(text)) < 0)
        _exit(90);
}

static void end_say(const char *what, pid_t pid)
{
    char text[100];
    int status = 0;
    waitpid(pid, &status, __WALL);
    sprintf(text, "%s: status %x\n", what, (unsigned)status);
    say(text);
}

/* ---- what a raw fork's child does ---- */

/* Its own action has come and gone: its child is sampled with none there, or is not. */
static void resets(void)
{
    act(SIGTRAP, on_trap, 0, 0);
    act(SIGTRAP, SIG_DFL, 0, 0);
    pid_t pid = _Fork();
    if (pid == 0) {
        spin(WORK);
        _exit(4);
    }
    end_say("_Fork", pid);
    raise(SIGTRAP);
}

/* The handler is the child's, too, and counts for both. */
static void vforks(void)
{
    act(SIGTRAP, on_trap, 0, 0);
    pid_t pid = vfork();
    if (pid == 0) {
        spin(WORK);
        _exit(5);
    }
    end_say("vfork", pid);
    pid = vfork();
    if (pid == 0) {
        raise(SIGTRAP);
        _exit(handled);
    }
    end_say("vfork, raised", pid);
    sigset_t trap, pending;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    sigprocmask(SIG_BLOCK, &trap, NULL);
    raise(SIGTRAP);
    sigpending(&pending);
    _exit(handled + 16 * sigismember(&pending, SIGTRAP));
}

static void forks(void)
{
    sigset_t trap, pending;
    act(SIGTRAP, on_trap, 0, 0);
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    sigprocmask(SIG_BLOCK, &trap, NULL);
    pid_t pid = (pid_t)syscall(SYS_fork);
    if (pid == 0) {
        raise(SIGTRAP);
        sigpending(&pending);
        _exit(handled + 16 * sigismember(&pending, SIGTRAP));
    }
    end_say("raw fork below it", pid);
}

/* Its parent has set the stack. */
static void stacks(void)
{
    act(SIGTRAP, on_trap, SA_ONSTACK, 0);
    raise(SIGTRAP);
    _exit(handled + 16 * on_stack);
}

static void actions(void)
{
    struct sigaction a;
    act(SIGUSR1, on_trap, 0, 0);
    act(SIGUSR2, SIG_IGN, 0, 1);
    pid_t pid = vfork();
    if (pid == 0) {
        act(SIGUSR1, on_trap, 0, 1);
        act(SIGUSR2, SIG_IGN, 0, 0);
        _exit(6);
    }
    end_say("vfork, actions", pid);
    sigaction(SIGUSR1, NULL, &a);
    int masks = sigismember(&a.sa_mask, SIGTRAP);
    sigaction(SIGUSR2, NULL, &a);
    _exit(masks + 2 * sigismember(&a.sa_mask, SIGTRAP));
}

/* A call of fork() has made it known: what it had set before that is not what it has now. */
static void adopted(void)
{
    struct sigaction a;
    act(SIGUSR1, on_trap, 0, 1);
    pid_t pid = fork();
    if (pid == 0)
        _exit(7);
    end_say("fork", pid);
    act(SIGUSR1, on_trap, 0, 0);
    pid = (pid_t)syscall(SYS_fork);
    if (pid == 0) {
        sigaction(SIGUSR1, NULL, &a);
        _exit(sigismember(&a.sa_mask, SIGTRAP));
    }
    end_say("raw fork of one that is known", pid);
}

/* It is the second program that runs here: what it ignores has been ignored by the first one. */
static void ignores(void)
{
    struct sigaction a;
    pid_t pid = fork();
    if (pid == 0) {
        sigaction(SIGBUS, NULL, &a);
        _exit((a.sa_handler == SIG_IGN) + 2 * (a.sa_flags != 0));
    }
    end_say("ignored", pid);
}

static void raw(const char *name, void (*run)(void))
{
    pid_t pid = (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
    if (pid == 0) {
        run();
        _exit(3);
    }
    end_say(name, pid);
}

/* What the kernel has reset has no mask. */
static void cleared(void)
{
    struct clone_args arguments = {.flags = CLONE_CLEAR_SIGHAND, .exit_signal = SIGCHLD};
    struct sigaction a;
    act(SIGUSR1, SIG_IGN, SA_RESTART, 1);
    pid_t pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
    if (pid == 0) {
        sigaction(SIGUSR1, NULL, &a);
        _exit((a.sa_handler == SIG_IGN) + 2 * (a.sa_flags != 0) +
              4 * sigismember(&a.sa_mask, SIGTRAP));
    }
    end_say("cleared", pid);
    sigaction(SIGUSR1, NULL, &a);
    say(sigismember(&a.sa_mask, SIGTRAP) ? "masked\n" : "not masked\n");
}

/* What is said of SIGUSR1 once fork() has made this child known. */
static void known(const char *what)
{
    char text[100];
    struct sigaction a;
    pid_t pid = fork();
    if (pid == 0)
        _exit(8);
    end_say(what, pid);
    sigaction(SIGUSR1, NULL, &a);
    sprintf(text, "%s: ignored %d flags %x masks %d\n", what, a.sa_handler == SIG_IGN,
            (unsigned)a.sa_flags, sigismember(&a.sa_mask, SIGTRAP));
    say(text);
}

/* The kernel has reset what libc has set before. */
static void cleared_known(void)
{
    struct clone_args arguments = {.flags = CLONE_CLEAR_SIGHAND, .exit_signal = SIGCHLD};
    act(SIGUSR1, SIG_IGN, SA_RESTART, 1);
    pid_t pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
    if (pid == 0) {
        known("cleared");
        _exit(9);
    }
    end_say("cleared, known", pid);
}

/* Without the flag that libc sets. */
static void plain_known(void)
{
    struct {
        uint64_t handler, flags, restorer, mask;
    } a = {(uint64_t)(uintptr_t)SIG_IGN, SA_ONSTACK, 0, 0};
    act(SIGUSR1, SIG_IGN, SA_RESTART, 1);
    syscall(SYS_rt_sigaction, (long)SIGUSR1, &a, NULL, sizeof a.mask);
    known("plain");
}

/* The first stack is the kernel's to manage, and samples come on it; the second has no memory. */
static void unstacks(void)
{
    stack_t none = {.ss_sp = mmap(NULL, STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                    .ss_size = STACK};
    sigaltstack(&none, NULL);
    pid_t pid = fork();
    if (pid == 0) {
        spin(WORK);
        _exit(10);
    }
    end_say("no stack, fork", pid);
    spin(WORK);
    sigaltstack(NULL, &none);
    _exit(none.ss_size == STACK && none.ss_flags == 0);
}

static void disarms(void)
{
    stack_t first = {.ss_sp = stack, .ss_size = STACK, .ss_flags = (int)(1u << 31)};
    sigaltstack(&first, NULL);
    raw("unstacks", unstacks);
}

/* A child in our memory whose own child is in it, too. */
static void nested(void)
{
    pid_t inner, pid = vfork();
    if (pid == 0) {
        act(SIGTRAP, on_trap, 0, 0);
        handled = 0;
        inner = vfork();
        if (inner == 0) {
            spin(WORK);
            _exit(5);
        }
        raise(SIGTRAP);
        _exit(handled);
    }
    end_say("nested", pid);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        raw("ignores", ignores);
        return 0;
    }
    raw("resets", resets);
    raw("cleared_known", cleared_known);
    raw("plain_known", plain_known);
    pid_t pid = fork();
    if (pid == 0) {
        disarms();
        _exit(0);
    }
    end_say("disarms", pid);
    raw("vforks", vforks);
    raw("forks", forks);
    stack_t alternate = {.ss_sp = stack, .ss_size = STACK};
    sigaltstack(&alternate, NULL);
    raw("stacks", stacks);
    act(SIGUSR1, on_trap, 0, 1); /* its child sets them the other way */
    act(SIGUSR2, SIG_IGN, 0, 0);
    raw("actions", actions);
    raw("adopted", adopted);
    cleared();
    nested();
    act(SIGBUS, SIG_IGN, 0, 0);
    execl("/proc/self/exe", argv[0], "again", (char *)NULL);
    return 1;
}
