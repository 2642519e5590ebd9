/* Processes and threads, which run a part of the script; executions of this program; what prctl and
 * limits set. */
#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PARTS = 12, DEPTH = 3, CHILD_STACK = 1 << 17 };
extern char **environ;
static void *volatile nowhere = (void *)8;

/* SIGCHLD comes when the child has been waited for: the moment of its end is not the program's. */
static sigset_t children_hold(void)
{
    sigset_t one, mask;
    sigemptyset(&one);
    sigaddset(&one, SIGCHLD);
    sigprocmask(SIG_BLOCK, &one, &mask);
    return mask;
}

static void children_release(const sigset_t *mask)
{
    sigprocmask(SIG_SETMASK, mask, NULL);
}

/* Whatever SIGCHLD's action is: with SIG_IGN or SA_NOCLDWAIT there is nothing to wait for. */
static void end_say(pid_t pid)
{
    int status = 0, error;
    while ((error = waitpid(pid, &status, __WALL)) < 0 && errno == EINTR)
        ;
    if (error < 0)
        say(" not waited for, errno %d", errno);
    else
        status_say(status);
}

void child_run(void (*run)(void *), void *argument)
{
    sigset_t mask = children_hold();
    pid_t pid = fork();
    if (pid == 0) {
        children_release(&mask);
        run(argument);
        _exit(0);
    }
    end_say(pid);
    children_release(&mask);
}

static bool may_nest(const struct script *s)
{
    return s->depth < DEPTH && !s->shares;
}

static void op_fork(struct draw *d, struct script *s)
{
    unsigned count = 1 + draw(d, PARTS), way = draw(d, 5);
    if (!may_nest(s))
        return;
    struct script part = script_part(s, count);
    say(" way %u\n", way);
    sigset_t mask = children_hold();
    pid_t pid = way == 0 ? (pid_t)syscall(SYS_fork)
                : way == 1 ? (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L)
                : way == 2 ? _Fork()
                           : fork();
    if (pid == 0) {
        children_release(&mask);
        state_say();
        script_run(&part);
        if (way & 1)
            exit(3);
        _exit(4);
    }
    end_say(pid);
    children_release(&mask);
}

struct start {
    struct script part;
    sigset_t mask;
};

static void *thread_run(void *argument)
{
    struct start *start = argument;
    sigprocmask(SIG_SETMASK, &start->mask, NULL);
    script_run(&start->part);
    if (start->part.seed & 1)
        pthread_exit((void *)6L);
    return (void *)5L;
}

/* Meanwhile this thread blocks all: what is sent to the process comes to the other one. */
static void op_thread(struct draw *d, struct script *s)
{
    pthread_t thread;
    pthread_attr_t attributes;
    void *result = NULL;
    unsigned count = 1 + draw(d, PARTS);
    if (!may_nest(s))
        return;
    struct start start = {.part = script_part(s, count)};
    sigset_t all;
    pthread_attr_init(&attributes);
    if (draw(d, 3) == 0)
        pthread_attr_setstacksize(&attributes, CHILD_STACK);
    say("\n");
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &start.mask);
    int error = pthread_create(&thread, &attributes, thread_run, &start);
    if (error == 0)
        pthread_join(thread, &result);
    sigprocmask(SIG_SETMASK, &start.mask, NULL);
    say(" thread: %d, %ld", error, (long)result);
}

/* ---- children in the parent's memory ---- */

static int shared_run(void *argument)
{
    script_run(argument);
    _exit(7); /* with all of its threads: a return would end this one */
}

static void op_clone(struct draw *d, struct script *s)
{
    static const int flags[] = {CLONE_VM | CLONE_VFORK | SIGCHLD,
                                CLONE_VM | CLONE_VFORK | SIGCHLD | CLONE_FILES, SIGCHLD,
                                CLONE_VM | CLONE_VFORK | SIGCHLD | CLONE_FS};
    int flag = PICK(d, flags);
    unsigned count = 1 + draw(d, 5);
    if (!may_nest(s))
        return;
    struct script part = script_part(s, count);
    uint8_t *stack = mmap(NULL, CHILD_STACK, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    part.shares = flag & CLONE_VM;
    say(" %x\n", (unsigned)flag);
    sigset_t mask = children_hold();
    pid_t pid = clone(shared_run, stack + CHILD_STACK, flag, &part);
    if (pid < 0)
        say(" errno %d", errno);
    else
        end_say(pid);
    children_release(&mask);
    munmap(stack, CHILD_STACK);
}

static void op_vfork(struct draw *d, struct script *s)
{
    unsigned count = 1 + draw(d, 4);
    volatile bool executes = draw(d, 2);
    if (!may_nest(s))
        return;
    struct script part = script_part(s, count);
    char **arguments = script_arguments(&part);
    part.shares = true;
    say(" %s\n", executes ? "executes" : "ends");
    sigset_t mask = children_hold();
    pid_t pid = vfork();
    if (pid == 0) {
        if (executes)
            execve(own_path, arguments, environ);
        else
            burn(50);
        _exit(8);
    }
    end_say(pid);
    children_release(&mask);
}

/* ---- executions ---- */

static void execute(unsigned way, char **arguments)
{
    int fd;
    switch (way) {
    case 0: execve(own_path, arguments, environ); break;
    case 1:
        execl(own_path, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
              (char *)NULL);
        break;
    case 2: execvpe(own_path, arguments, environ); break;
    case 3: execv("/proc/self/exe", arguments); break;
    case 4: syscall(SYS_execve, own_path, arguments, environ); break;
    case 5:
        fd = open(own_path, O_RDONLY | O_CLOEXEC);
        fexecve(fd, arguments, environ);
        break;
    case 6: execve("/nonexistent", arguments, environ); break;
    case 7: execve(own_path, nowhere, environ); break;
    case 8: execve("/dev/null", arguments, environ); break;
    default: execvp(own_path, arguments);
    }
    say(" not executed, errno %d", errno);
}

static void *thread_executes(void *argument)
{
    execute(0, argument);
    return NULL;
}

static void op_exec(struct draw *d, struct script *s)
{
    unsigned count = 1 + draw(d, PARTS), way = draw(d, 12);
    if (!may_nest(s))
        return;
    struct script part = script_part(s, count);
    char **arguments = script_arguments(&part);
    pid_t pid = -1;
    say(" way %u\n", way);
    sigset_t mask = children_hold();
    if (way == 11) {
        int error = posix_spawn(&pid, own_path, NULL, NULL, arguments, environ);
        if (error)
            say(" not spawned, %d", error);
    } else if ((pid = fork()) == 0) {
        pthread_t thread;
        if (way != 10)
            execute(way, arguments);
        else if (pthread_create(&thread, NULL, thread_executes, arguments) == 0)
            pthread_join(thread, NULL);
        _exit(9);
    }
    if (pid > 0)
        end_say(pid);
    children_release(&mask);
}

static void op_shell(struct draw *d, struct script *s)
{
    unsigned way = draw(d, 3);
    if (!may_nest(s) || signal_blocked(SIGCHLD) || action_kind(SIGCHLD) == 2)
        return;
    say(" way %u", way);
    if (way == 0) {
        said(system("exit 3"));
    } else if (way == 1) {
        said(system("kill -TERM $$"));
    } else {
        FILE *f = popen("exit 4", "r");
        said(f ? pclose(f) : -2);
    }
}

/* ---- waiting and killing ---- */

static void op_kill(struct draw *d, struct script *s)
{
    static const int signals[] = {SIGKILL, SIGTERM, SIGTRAP, SIGSEGV, SIGUSR1, 34};
    int number = PICK(d, signals), status = 0;
    siginfo_t info = {0};
    if (!may_nest(s))
        return;
    say(" %d", number);
    sigset_t mask = children_hold();
    pid_t pid = fork();
    if (pid == 0) {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_UNBLOCK, &all, NULL);
        signal(number, SIG_DFL);
        kill(getpid(), number);
        for (;;)
            burn(1000);
    }
    int error;
    while ((error = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT)) < 0 && errno == EINTR)
        ;
    if (error == 0)
        say(" code %d status %d", info.si_code, info.si_status);
    end_say(pid);
    said(waitpid(-1, &status, WNOHANG));
    said(kill(pid, 0));
    children_release(&mask);
}

/* ---- what a process is set to ---- */

static void op_prctl(struct draw *d, struct script *s)
{
    static const int options[] = {PR_GET_DUMPABLE,
                                  PR_SET_DUMPABLE,
                                  PR_GET_KEEPCAPS,
                                  PR_GET_TIMERSLACK,
                                  PR_SET_TIMERSLACK,
                                  PR_GET_SECCOMP,
                                  PR_GET_NO_NEW_PRIVS,
                                  PR_SET_NO_NEW_PRIVS,
                                  PR_GET_THP_DISABLE,
                                  PR_GET_CHILD_SUBREAPER,
                                  PR_GET_PDEATHSIG,
                                  PR_SET_PDEATHSIG,
                                  PR_GET_TSC,
                                  PR_SET_NAME,
                                  PR_GET_NAME,
                                  PR_SET_MM,
                                  9999,
                                  -1};
    char name[16] = "random";
    int value = 0, option = PICK(d, options);
    unsigned long second = draw(d, 3);
    (void)s;
    say(" %d %lu", option, second);
    if (option == PR_SET_NAME || option == PR_GET_NAME) {
        said(prctl(option, draw(d, 4) ? name : (char *)8));
        say(" %.15s", name);
    } else if (option == PR_GET_PDEATHSIG || option == PR_GET_TSC) {
        said(prctl(option, draw(d, 4) ? &value : (int *)8));
        say(" %d", value);
    } else {
        said(prctl(option, second, 0, 0, 0));
    }
}

static void strict(void *argument)
{
    (void)argument;
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    burn(2000);
    syscall(SYS_exit, 2L);
}

/* getppid() fails with 77; all else is allowed. */
static void filter(void *argument)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 77),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {COUNT(code), code};
    said(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    if (*(unsigned *)argument == 1)
        said(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
    else
        said(syscall(SYS_seccomp, (long)SECCOMP_SET_MODE_FILTER, (long)SECCOMP_FILTER_FLAG_TSYNC,
                     &program));
    burn(500);
    said(syscall(SYS_getppid));
    say(" fork");
    pid_t pid = fork();
    if (pid == 0)
        _exit(3);
    end_say(pid);
}

static void op_sandbox(struct draw *d, struct script *s)
{
    unsigned way = draw(d, 3);
    if (!may_nest(s))
        return;
    say(" way %u", way);
    child_run(way ? filter : strict, &way);
}

static void op_limit(struct draw *d, struct script *s)
{
    static const int resources[] = {RLIMIT_NOFILE,
                                    RLIMIT_STACK,
                                    RLIMIT_MEMLOCK,
                                    RLIMIT_FSIZE,
                                    RLIMIT_SIGPENDING,
                                    RLIMIT_NICE,
                                    99,
                                    -1};
    int resource = PICK(d, resources);
    struct rlimit limit = {0}, old = {0};
    (void)s;
    say(" %d", resource);
    said(getrlimit((__rlimit_resource_t)resource, &limit));
    if (resource == RLIMIT_NOFILE)
        limit.rlim_cur = 64 + draw(d, 900);
    if (draw(d, 2))
        said(setrlimit((__rlimit_resource_t)resource, draw(d, 6) ? &limit : (void *)8));
    else
        said(prlimit(0, (enum __rlimit_resource)resource, draw(d, 3) ? &limit : NULL,
                     draw(d, 6) ? &old : (void *)8));
    say(" %ld %ld", (long)limit.rlim_cur, (long)old.rlim_cur);
}

/* Of the line `key` in /proc/self/status. */
static void status_line(const char *key)
{
    static char bytes[8192];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t length = read(fd, bytes, sizeof bytes - 1);
    close(fd);
    bytes[length < 0 ? 0 : length] = 0;
    char *line = strstr(bytes, key);
    if (line)
        say(" %.*s", (int)strcspn(line, "\n"), line);
}

static void op_self(struct draw *d, struct script *s)
{
    const char *preload = getenv("LD_PRELOAD");
    unsigned count = 0;
    (void)d, (void)s;
    for (char **e = environ; e && *e; e++)
        count++;
    say(" preload %s, environment %u", preload ? preload : "none", count);
    say(" umask %o", umask(022));
    say(" priority %d", getpriority(PRIO_PROCESS, 0));
    usleep(2000); /* who has been joined may not have gone yet */
    status_line("Threads:");
    status_line("Seccomp:");
    status_line("NoNewPrivs:");
}

/* Threads that compute until the process ends: samples come to several. */
static void *spins(void *argument)
{
    for (;;)
        burn(100);
    return argument;
}

static void op_crowd(struct draw *d, struct script *s)
{
    pthread_t thread;
    sigset_t all, mask;
    if (!s->depth || s->shares || draw(d, 2))
        return;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask);
    int error = pthread_create(&thread, NULL, spins, NULL);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    if (error == 0)
        pthread_detach(thread);
    say(" %d", error);
}

const struct operation process_operations[] = {
    {"fork", op_fork, 8},   {"thread", op_thread, 8}, {"clone", op_clone, 4},
    {"vfork", op_vfork, 4}, {"exec", op_exec, 7},     {"shell", op_shell, 2},
    {"kill", op_kill, 4},   {"prctl", op_prctl, 6},   {"sandbox", op_sandbox, 3},
    {"limit", op_limit, 4}, {"self", op_self, 5},     {"crowd", op_crowd, 2},
    {NULL, NULL, 0},
};
