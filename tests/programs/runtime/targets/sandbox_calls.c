/* Does one thing in a sandbox whose filter lets nothing pass but the calls that are named: what the
 * thing takes natively.
 *
 *     sandbox_calls THING learn            without a filter; a call of getpgid that fails stands where it would be installed
 *     sandbox_calls THING NUMBER...        with it */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "spin.h"

enum { MOST = 400, LONG = 20000000, MARK = -77, SMALL = 8 << 10, STACK = 64 << 10 };

extern char **environ;
static char *const nothing[] = {(char *)"/bin/true", NULL};
static volatile unsigned long sink;
static char stack[STACK] __attribute__((aligned(16)));
static volatile sig_atomic_t handled;

static void handle(int number)
{
    handled += number != 0;
}

static int wait_for(pid_t pid, int wanted)
{
    int status;
    return pid <= 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
           WEXITSTATUS(status) != wanted;
}

static void *work(void *unused)
{
    sink = spin(LONG);
    return unused;
}

static int thread(void)
{
    pthread_t t;
    return pthread_create(&t, NULL, work, NULL) || pthread_join(t, NULL);
}

static int forks(void)
{
    pid_t pid = fork();
    if (!pid) {
        sink = spin(LONG);
        _exit(7);
    }
    return wait_for(pid, 7);
}

static int fork_thread(void)
{
    pid_t pid = fork();
    if (!pid)
        _exit(7 + thread());
    return wait_for(pid, 7);
}

static int fork_exec(void)
{
    pid_t pid = fork();
    if (!pid) {
        execv(nothing[0], nothing);
        _exit(1);
    }
    return wait_for(pid, 0);
}

static int exec_fails(void)
{
    return execv("/no such", nothing) != -1;
}

static int execs(void)
{
    execve(nothing[0], nothing, environ);
    return 1;
}

static void *exec_there(void *unused)
{
    sink = spin(LONG);
    execv(nothing[0], nothing);
    return unused;
}

/* By a thread that takes the first one's number; that one was made by fork, in the sandbox. */
static int thread_exec(void)
{
    pid_t pid = fork();
    if (!pid) {
        pthread_t t;
        pthread_create(&t, NULL, exec_there, NULL);
        for (;;)
            sink = spin(LONG);
    }
    return wait_for(pid, 0);
}

static int vfork_exec(void)
{
    pid_t pid = vfork();
    if (!pid) {
        execv(nothing[0], nothing);
        _exit(1);
    }
    return wait_for(pid, 0) || thread();
}

static int vfork_exit(void)
{
    pid_t pid = vfork();
    if (!pid)
        _exit(7);
    return wait_for(pid, 7) || thread();
}

static int spawns(void)
{
    pid_t pid;
    return posix_spawn(&pid, nothing[0], NULL, NULL, nothing, environ) || wait_for(pid, 0);
}

static int shells(void)
{
    return system(":") != 0;
}

static int pipes(void)
{
    FILE *f = popen(":", "r");
    return !f || pclose(f);
}

static int cloned(void *unused)
{
    sink = spin(LONG);
    return unused ? 1 : 7;
}

static int clone_vfork(void)
{
    return wait_for(clone(cloned, stack + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL), 7);
}

static int raw_fork(void)
{
    pid_t pid = (pid_t)syscall(SYS_fork);
    if (!pid) {
        sink = spin(LONG);
        _exit(7);
    }
    return wait_for(pid, 7);
}

static int raw_fork_fork(void)
{
    pid_t pid = (pid_t)syscall(SYS_fork);
    if (!pid)
        _exit(6 + (forks() == 0));
    return wait_for(pid, 7);
}

static int raw_fork_exec(void)
{
    pid_t pid = (pid_t)syscall(SYS_fork);
    if (!pid) {
        execv(nothing[0], nothing);
        _exit(1);
    }
    return wait_for(pid, 0);
}

static int action_of(int number)
{
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK}, old, now;
    return sigaction(number, &action, &old) || sigaction(number, NULL, &now) ||
           now.sa_handler != handle || sigaction(number, &old, NULL);
}

static int actions(void)
{
    return action_of(SIGUSR1) || action_of(SIGSEGV) || action_of(SIGTRAP) ||
           signal(SIGUSR2, handle) == SIG_ERR || signal(SIGTRAP, SIG_IGN) == SIG_ERR;
}

static int masks(void)
{
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    sigaddset(&set, SIGUSR1);
    return sigprocmask(SIG_BLOCK, &set, &old) || (sink = spin(LONG)) == 0 ||
           pthread_sigmask(SIG_SETMASK, &old, &set) || sigismember(&set, SIGTRAP) != 1;
}

static int raw_mask(void)
{
    unsigned long set = 1ul << (SIGUSR1 - 1), old;
    return syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, &old, sizeof set) != 0;
}

static int pending(void)
{
    sigset_t set;
    return sigpending(&set);
}

static int jumps(void)
{
    static sigjmp_buf to;
    if (sigsetjmp(to, 1) == 0)
        siglongjmp(to, 1);
    return 0;
}

static int raises(void)
{
    struct sigaction action = {.sa_handler = handle};
    return sigaction(SIGTRAP, &action, NULL) || raise(SIGTRAP) || handled != 1;
}

static int descriptor(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    return sigprocmask(SIG_BLOCK, &set, NULL) || signalfd(-1, &set, SFD_CLOEXEC) < 0;
}

static int waits(void)
{
    const struct timespec now = {0, 0};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    return sigprocmask(SIG_BLOCK, &set, NULL) || sigtimedwait(&set, NULL, &now) != -1;
}

static int alternate(void)
{
    stack_t own = {.ss_sp = stack, .ss_size = sizeof stack}, now;
    return sigaltstack(&own, NULL) || sigaltstack(NULL, &now) || now.ss_sp != stack ||
           (sink = spin(LONG)) == 0;
}

/* Not enough room for more than one signal, and none for ours. */
static void *alternate_small(void *failed)
{
    stack_t own = {.ss_sp = stack, .ss_size = SMALL}, now;
    *(int *)failed = sigaltstack(&own, NULL) || sigaltstack(NULL, &now) || now.ss_sp != stack ||
                     now.ss_size != SMALL;
    memset(stack, 0x5a, SMALL);
    sink = spin(5 * LONG);
    for (unsigned i = 0; i < SMALL; i++)
        *(int *)failed |= stack[i] != 0x5a;
    return NULL;
}

static int small_first(void)
{
    int failed = 0;
    alternate_small(&failed);
    return failed;
}

static int small_thread(void)
{
    pthread_t t;
    int failed = 0;
    return pthread_create(&t, NULL, alternate_small, &failed) || pthread_join(t, NULL) || failed;
}

static int descriptors(void)
{
    return dup2(1, 50) != 50 || dup3(1, 51, O_CLOEXEC) != 51 || close(50) || close_range(40, 60, 0);
}

static int memory(void)
{
    char *at = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED || mprotect(at, STACK, PROT_READ) || mlock(at, STACK) ||
           munlock(at, STACK) || munmap(at, STACK);
}

static int library(void)
{
    void *handle = dlopen("libm.so.6", RTLD_NOW);
    return !handle || dlclose(handle);
}

static int named(void)
{
    return prctl(PR_SET_NAME, "named", 0, 0, 0);
}

static int filter_all(unsigned long flags, unsigned verdict, unsigned number)
{
    struct sock_filter list[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, verdict),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof list / sizeof *list, list};
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static int second(void)
{
    return filter_all(0, SECCOMP_RET_KILL_PROCESS, SYS_rt_sigreturn) || (sink = spin(LONG)) == 0;
}

static int second_for_all(void)
{
    pthread_t t[3];
    int wrong = 0;
    for (int i = 0; i < 3; i++)
        wrong |= pthread_create(&t[i], NULL, work, NULL);
    wrong |= filter_all(SECCOMP_FILTER_FLAG_TSYNC, SECCOMP_RET_KILL_PROCESS, SYS_rt_sigreturn);
    for (int i = 0; i < 3; i++)
        wrong |= pthread_join(t[i], NULL);
    return wrong;
}

static int second_in_vfork(void)
{
    pid_t pid = vfork();
    if (!pid) {
        int wrong = filter_all(0, SECCOMP_RET_KILL_PROCESS, SYS_getpid);
        sink = spin(LONG);
        _exit(7 + wrong);
    }
    return wait_for(pid, 7) || thread();
}

static int executes_in_vfork(void)
{
    pid_t pid = vfork();
    if (!pid) {
        if (filter_all(0, SECCOMP_RET_KILL_PROCESS, SYS_getpgid) == 0)
            execv(nothing[0], nothing);
        _exit(1);
    }
    return wait_for(pid, 0) || thread();
}

static int no_clock(void)
{
    return prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) || (sink = spin(LONG)) == 0 || exec_fails() ||
           forks();
}

static int traced(void)
{
    return ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0;
}

static int quits(void)
{
    exit(0);
}

static int leaves(void)
{
    pthread_exit(NULL);
}

#define THING(name) {#name, name}
static const struct thing {
    const char *name;
    int (*run)(void);
} things[] = {
    THING(thread), THING(forks), THING(fork_thread), THING(fork_exec), THING(exec_fails),
        THING(execs), THING(thread_exec),
    THING(vfork_exec), THING(vfork_exit), THING(spawns), THING(shells), THING(pipes),
        THING(clone_vfork), THING(raw_fork),
    THING(raw_fork_fork), THING(raw_fork_exec), THING(actions), THING(masks), THING(raw_mask),
        THING(pending), THING(jumps),
    THING(raises), THING(descriptor), THING(waits), THING(alternate), THING(small_first),
        THING(small_thread),
    THING(descriptors), THING(memory), THING(library), THING(named), THING(second),
        THING(second_for_all),
    THING(second_in_vfork), THING(executes_in_vfork), THING(no_clock), THING(traced), THING(quits),
        THING(leaves)};

static struct sock_filter code[MOST];

static int filter(char **numbers)
{
    unsigned short count = 0;
    code[count++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (; *numbers && count < MOST - 3; numbers++) {
        code[count++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)atoi(*numbers), 0, 1);
        code[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    code[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {count, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

static void *idle(void *unused)
{
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t first;
    const struct thing *end = things + sizeof things / sizeof *things, *t = things;
    if (argc < 2) {
        for (; t < end; t++)
            puts(t->name);
        return 0;
    }
    while (t < end && strcmp(t->name, argv[1]))
        t++;
    /* what libc does once */
    if (t == end || pthread_create(&first, NULL, idle, NULL) || pthread_join(first, NULL))
        return 2;
    sink = spin(LONG);
    if (argc > 2 && !strcmp(argv[2], "learn"))
        syscall(SYS_getpgid, MARK);
    else if (filter(argv + 2))
        return 2;
    return t->run();
}
