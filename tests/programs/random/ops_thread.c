/* Threads and children that wait for each other: futexes, mutexes whose owner has gone,
 * cancellation; children made by clone3, traced ones, and ones in sandboxes that answer with a
 * signal. */
#include "calls.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STOPS = 12 };

/* With all signals blocked: what is sent to the process comes to the thread that runs the
 * script. */
static int thread_make(pthread_t *thread, void *(*run)(void *), void *argument)
{
    sigset_t all, mask;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask);
    int error = pthread_create(thread, NULL, run, argument);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    return error;
}

/* ---- futexes ---- */

static long futex(void *word, int operation, uint32_t value, const void *timeout, void *other,
                  uint32_t last)
{
    return syscall(SYS_futex, word, (long)operation, (long)value, timeout, other, (long)last);
}

static void op_futex(struct draw *d, struct script *s)
{
    static uint32_t words[2];
    struct timespec soon = {0, 1000000}, broken = {0, -1};
    unsigned way = draw(d, 12);
    int flag = draw(d, 2) ? FUTEX_PRIVATE_FLAG : 0;
    (void)s;
    words[0] = words[1] = 0;
    say(" way %u flag %x", way, (unsigned)flag);
    switch (way) {
    case 0: said(futex(words, FUTEX_WAIT | flag, 1, NULL, NULL, 0)); break;
    case 1: said(futex(words, FUTEX_WAIT | flag, 0, &soon, NULL, 0)); break;
    case 2: said(futex(words, FUTEX_WAIT | flag, 0, &broken, NULL, 0)); break;
    case 3: said(futex(words, FUTEX_WAIT_BITSET | flag, 0, &soon, NULL,
                       draw(d, 2) ? ~0u : 0)); break;
    case 4: said(futex(words, FUTEX_WAKE | flag, 1, NULL, NULL, 0)); break;
    case 5: said(futex(words, FUTEX_CMP_REQUEUE | flag, 1, (void *)1L, words + 1,
                       draw(d, 2))); break;
    case 6: said(futex(words, FUTEX_WAKE_OP | flag, 1, (void *)1L, words + 1,
                       FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_EQ, 0))); break;
    case 7:
        said(futex(words, FUTEX_LOCK_PI | flag, 0, NULL, NULL, 0));
        say(" %s",
            (words[0] & FUTEX_TID_MASK) == (uint32_t)syscall(SYS_gettid) ? "mine" : "not mine");
        said(futex(words, FUTEX_TRYLOCK_PI | flag, 0, NULL, NULL, 0));
        said(futex(words, FUTEX_UNLOCK_PI | flag, 0, NULL, NULL, 0));
        break;
    case 8: said(futex(words, FUTEX_UNLOCK_PI | flag, 0, NULL, NULL, 0)); break;
    case 9: said(futex((char *)words + 1, FUTEX_WAIT | flag, 0, &soon, NULL, 0)); break;
    case 10: said(futex((void *)8, FUTEX_WAIT | flag, 0, &soon, NULL, 0)); break;
    default: said(futex(words, 77 | flag, 0, &soon, NULL, 0));
    }
    say(" %u", words[1]);
}

static void *lock_and_go(void *mutex)
{
    pthread_mutex_lock(mutex);
    burn(100);
    return NULL;
}

static void op_robust(struct draw *d, struct script *s)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;
    pthread_t thread;
    void *head = NULL;
    size_t size = 0;
    bool repaired = draw(d, 2), inherits = draw(d, 2);
    if (s->shares)
        return;
    said(syscall(SYS_get_robust_list, 0L, &head, &size));
    say(" %zu %s", size, head ? "there" : "none");
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    if (inherits)
        pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&mutex, &attributes);
    if (thread_make(&thread, lock_and_go, &mutex) != 0)
        return;
    pthread_join(thread, NULL);
    say(" lock %d", pthread_mutex_lock(&mutex));
    if (repaired)
        say(" consistent %d", pthread_mutex_consistent(&mutex));
    say(" unlock %d", pthread_mutex_unlock(&mutex));
    say(" again %d", pthread_mutex_trylock(&mutex));
}

/* ---- cancellation ---- */

struct victim {
    unsigned way;
    int ends[2];
    sem_t begun, never;
    volatile uint64_t sum;
};

static void cleans(void *unused)
{
    (void)unused;
    burn(20);
    say(" cleaned");
}

static void *cancelled(void *argument)
{
    struct victim *v = argument;
    struct timespec long_time = {100, 0};
    char byte;
    pthread_cleanup_push(cleans, NULL);
    sem_post(&v->begun);
    switch (v->way) {
    case 0: sem_wait(&v->never); break;
    case 1: nanosleep(&long_time, NULL); break;
    case 2: v->sum += (uint64_t)read(v->ends[0], &byte, 1); break;
    case 3:
        for (;;) {
            v->sum += burn(50);
            pthread_testcancel();
        }
    default:
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
        for (;;)
            v->sum++;
    }
    pthread_cleanup_pop(0);
    return NULL;
}

static void op_cancel(struct draw *d, struct script *s)
{
    struct victim v = {.way = draw(d, 5)};
    pthread_t thread;
    void *result = NULL;
    if (s->shares || pipe(v.ends) != 0)
        return;
    say(" way %u", v.way);
    sem_init(&v.begun, 0, 0);
    sem_init(&v.never, 0, 0);
    if (thread_make(&thread, cancelled, &v) == 0) {
        while (sem_wait(&v.begun) != 0)
            ;
        int cancel = pthread_cancel(thread);
        say(" join %d cancel %d", pthread_join(thread, &result), cancel);
        say(" %s", result == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
    }
    close(v.ends[0]);
    close(v.ends[1]);
}

/* ---- children ---- */

static bool waits_for(pid_t pid, int *status, int options)
{
    pid_t got;
    while ((got = waitpid(pid, status, options)) < 0 && errno == EINTR)
        ;
    return got == pid;
}

/* SIGCHLD and the like come when the child has been waited for. */
static sigset_t hold(void)
{
    sigset_t all, mask;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask);
    return mask;
}

static void op_clone3(struct draw *d, struct script *s)
{
    static const uint64_t flags[] = {0,
                                     CLONE_PIDFD,
                                     CLONE_PARENT_SETTID,
                                     CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID,
                                     CLONE_CLEAR_SIGHAND,
                                     CLONE_FILES,
                                     CLONE_FS | CLONE_SYSVSEM,
                                     CLONE_SIGHAND,
                                     CLONE_THREAD,
                                     CLONE_CLEAR_SIGHAND | CLONE_SIGHAND,
                                     UINT64_C(1) << 50};
    static int pidfd, parent_tid, child_tid;
    struct clone_args a = {.flags = PICK(d, flags),
                           .exit_signal = draw(d, 8) ? SIGCHLD : draw(d, 2) ? 0 : 65};
    size_t size = draw(d, 10) ? sizeof a : draw(d, 2) ? 8 : 4096 * 2;
    int status = 0;
    if (s->shares)
        return;
    say(" %lx signal %lu size %zu", (unsigned long)a.flags, (unsigned long)a.exit_signal, size);
    pidfd = parent_tid = child_tid = -1;
    a.pidfd = (uint64_t)&pidfd;
    a.parent_tid = (uint64_t)&parent_tid;
    a.child_tid = (uint64_t)&child_tid;
    sigset_t mask = hold();
    long pid = syscall(SYS_clone3, &a, size);
    if (pid == 0) {
        sigprocmask(SIG_SETMASK, &mask, NULL);
        say(" child %s", child_tid == (int)syscall(SYS_gettid) ? "set" : "not set");
        burn(300);
        state_say();
        _exit(6);
    }
    int error = errno;
    bool waited = pid > 0 && waits_for((pid_t)pid, &status, __WALL);
    say(" = %s %d", pid > 0 ? "child" : "error", pid > 0 ? 0 : error);
    if (pid > 0) {
        say(" %s %s", parent_tid == pid ? "set" : "not set", pidfd >= 0 ? "descriptor" : "none");
        if (waited)
            status_say(status);
        if (pidfd >= 0)
            close(pidfd);
    }
    sigprocmask(SIG_SETMASK, &mask, NULL);
}

static void traced(unsigned way)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGUSR1, SIG_IGN);
    burn(200);
    said(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
    sigprocmask(SIG_SETMASK, &none, NULL);
    raise(SIGSTOP);
    burn(2000);
    raise(way == 0 ? SIGUSR1 : way == 1 ? SIGHUP : SIGTERM); /* not SIGTRAP: docs/limits.md */
    burn(2000);
    _exit(11);
}

/* The parent sees each signal of the child, and none of ours. */
static void op_trace(struct draw *d, struct script *s)
{
    unsigned way = draw(d, 3), pass = draw(d, 2);
    int status = 0;
    if (s->shares)
        return;
    say(" way %u pass %u", way, pass);
    sigset_t mask = hold();
    pid_t pid = fork();
    if (pid == 0)
        traced(way);
    for (int i = 0; i < STOPS && waits_for(pid, &status, 0) && WIFSTOPPED(status); i++) {
        int number = WSTOPSIG(status);
        say(" stop %d", number);
        ptrace(PTRACE_CONT, pid, NULL, (long)(pass && number != SIGSTOP ? number : 0));
    }
    status_say(status);
    sigprocmask(SIG_SETMASK, &mask, NULL);
}

static void on_sys(int number, siginfo_t *info, void *context)
{
    (void)context;
    say(" {%d code %d call %d}", number, info->si_code, info->si_syscall);
    burn(50);
}

static void sandboxed(void *argument)
{
    static const uint32_t answers[] = {SECCOMP_RET_TRAP,        SECCOMP_RET_KILL_PROCESS,
                                       SECCOMP_RET_KILL_THREAD, SECCOMP_RET_LOG,
                                       SECCOMP_RET_TRACE,       SECCOMP_RET_ERRNO | 5};
    uint32_t answer = answers[*(unsigned *)argument];
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, answer),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {COUNT(code), code};
    struct sigaction a = {.sa_sigaction = on_sys, .sa_flags = SA_SIGINFO};
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    sigaction(SIGSYS, &a, NULL);
    said(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    said(syscall(SYS_seccomp, (long)SECCOMP_SET_MODE_FILTER, 0L, &program));
    burn(500);
    long result = syscall(SYS_getppid);
    say(" %s", result > 0 ? "answered" : "refused");
    burn(500);
}

static void op_trap(struct draw *d, struct script *s)
{
    unsigned answer = draw(d, 6);
    say(" %u", answer);
    if (!s->shares)
        child_run(sandboxed, &answer);
}

const struct operation thread_operations[] = {
    {"futex", op_futex, 8},   {"robust", op_robust, 4}, {"cancel", op_cancel, 4},
    {"clone3", op_clone3, 5}, {"trace", op_trace, 3},   {"trap", op_trap, 3},
    {NULL, NULL, 0},
};
