/* Threads and a child that are made under a filter which kills for what it does not know, and work
 * there. Arguments: whether it knows rt_sigreturn (returns, silent), or lets another filter come
 * (more: it comes for all threads while they work, and does not know it; deadly: nor can a signal
 * be ignored under the first one, and none comes); and what is done: threads, crowd (of them),
 * fork, exec, shared (a child in this memory has entered a filter of its own before that). */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

enum { THREADS = 3, CROWD = 12, LONG = 160000000, SHORT = 100000, MOST = 80 };

static struct sock_filter code[MOST];
static unsigned short count;
static volatile unsigned long results[CROWD + 1];
static unsigned begun; /* atomic */
static unsigned made = THREADS;
static const char *what = "returns";

static void put(struct sock_filter i)
{
    code[count++] = i;
}

static void know(unsigned number)
{
    put((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    put((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

static void filter_make(void)
{
    static const unsigned short known[] = {
        SYS_clone, SYS_clone3, SYS_mmap, SYS_mprotect, SYS_munmap, SYS_madvise, SYS_set_robust_list,
            SYS_rseq, SYS_rt_sigprocmask,
        SYS_futex, SYS_exit, SYS_exit_group, SYS_write, SYS_wait4, SYS_brk, SYS_getrandom};
    put((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        know(known[i]);
    if (strcmp(what, "silent"))
        know(SYS_rt_sigreturn);
    if (strcmp(what, "stackless"))
        know(SYS_sigaltstack);
    if (!strcmp(what, "more") || !strcmp(what, "deadly")) {
        know(SYS_seccomp);
        know(SYS_close); /* by which samples can end */
    }
    if (!strcmp(what, "more"))
        know(SYS_rt_sigaction);
    put((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
}

/* All but rt_sigreturn. */
static int second(unsigned flags)
{
    struct sock_filter list[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof list / sizeof *list, list};
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

__attribute__((noinline)) static void *made_worker(void *result)
{
    __atomic_add_fetch(&begun, 1, __ATOMIC_RELEASE);
    *(volatile unsigned long *)result = spin(LONG / made * THREADS);
    return NULL;
}

static int threads(void)
{
    pthread_t t[CROWD];
    int wrong = 0;
    for (unsigned i = 0; i < made; i++)
        wrong |= pthread_create(&t[i], NULL, made_worker, (void *)&results[i]);
    while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) != made)
        results[made] = spin(SHORT);
    if (!strcmp(what, "more")) {
        results[made] = spin(LONG / 4);
        wrong |= second(SECCOMP_FILTER_FLAG_TSYNC);
    }
    for (unsigned i = 0; i < made; i++)
        wrong |= pthread_join(t[i], NULL);
    return wrong;
}

__attribute__((noinline)) static int forked(void)
{
    int status;
    pid_t pid = fork();
    if (!pid) {
        results[0] = spin(LONG);
        _exit(7 + threads());
    }
    return waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 7;
}

/* Kills for a call that the runtime makes only: another program can begin in it. */
static void filter_wide(void)
{
    put((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    put((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_tgsigqueueinfo, 0, 1));
    put((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    put((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

static void *nothing(void *unused)
{
    return unused;
}

/* What libc does for a process's first thread only. */
static int first_thread(void)
{
    pthread_t t;
    return pthread_create(&t, NULL, nothing, NULL) || pthread_join(t, NULL);
}

static int confined(void *unused)
{
    return unused || second(0) ? 1 : 7;
}

static int shared(void)
{
    static char stack[1 << 16] __attribute__((aligned(16)));
    int status;
    pid_t pid = clone(confined, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL);
    return waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 7 ||
           threads();
}

static void *executes(void *result)
{
    char *const echo[] = {(char *)"echo", (char *)"executed", NULL};
    bool more = !strcmp(what, "more");
    *(volatile unsigned long *)result = spin(more ? LONG : LONG / 8);
    if (more && second(SECCOMP_FILTER_FLAG_TSYNC))
        return NULL;
    for (int i = 0; more && i < 1000; i++)
        execv("/no such", echo);
    execv("/no such", echo);
    *(volatile unsigned long *)result = spin(LONG / 8);
    execv("/bin/echo", echo);
    return NULL;
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "threads";
    struct sock_fprog program = {0, code};
    static char buffer[BUFSIZ];
    int wrong;
    what = argc > 1 ? argv[1] : what;
    made = strcmp(how, "crowd") ? THREADS : CROWD;
    /* with its own, a first line of output makes more system calls */
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    if (strcmp(how, "exec") && strcmp(how, "shared"))
        filter_make();
    else
        filter_wide();
    program.len = count;
    if (first_thread() || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
        return 1;
    if (!strcmp(how, "exec")) {
        pthread_t t;
        wrong = pthread_create(&t, NULL, executes, (void *)&results[0]) || pthread_join(t, NULL);
    } else {
        wrong = !strcmp(how, "fork") ? forked() : !strcmp(how, "shared") ? shared() : threads();
    }
    puts(wrong ? "failed" : "done");
    return wrong;
}
