/* A process made by a raw clone, as Chromium makes its renderers: nobody is told of it. It works in
 * a thread, which it makes before it enters a sandbox ("before") or in it ("in"), where a system
 * call that threads of libc do not make kills. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

#define ALLOW(number)                                                                              \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static volatile unsigned long result;
static int begun; /* atomic */

__attribute__((noinline)) static void *stray_worker(void *argument)
{
    __atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 100; i++)
        result += spin(1000000);
    return argument;
}

static int sandbox(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_exit),
        ALLOW(SYS_exit_group),
        ALLOW(SYS_futex),
        ALLOW(SYS_brk),
        ALLOW(SYS_getrandom),
        ALLOW(SYS_mmap),
        ALLOW(SYS_munmap),
        ALLOW(SYS_mprotect),
        ALLOW(SYS_madvise),
        ALLOW(SYS_clone3),
        ALLOW(SYS_set_robust_list),
        ALLOW(SYS_rseq),
        ALLOW(SYS_rt_sigaction),
        ALLOW(SYS_rt_sigprocmask),
        ALLOW(SYS_rt_sigreturn),
        ALLOW(SYS_sigaltstack),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static volatile int traps;

static void on_trap(int signal)
{
    traps += signal == SIGTRAP;
}

/* As a crash handler does, before anybody is told of the process: it gets what is the program's,
 * and nothing else. */
static int handles(void)
{
    pthread_t thread;
    struct sigaction trap = {.sa_handler = on_trap}, now;
    if (sigaction(SIGTRAP, &trap, NULL) || pthread_create(&thread, NULL, stray_worker, NULL))
        return 3;
    stray_worker(NULL);
    pthread_join(thread, NULL);
    if (traps || sigaction(SIGTRAP, NULL, &now) || now.sa_handler != on_trap)
        return 4;
    raise(SIGTRAP);
    return traps == 1 ? 7 : 5;
}

static int child(int in)
{
    pthread_t thread;
    if (in && sandbox())
        return 2;
    if (pthread_create(&thread, NULL, stray_worker, NULL))
        return 3;
    while (!in && !__atomic_load_n(&begun, __ATOMIC_ACQUIRE))
        usleep(100);
    if (!in && sandbox())
        return 2;
    pthread_join(thread, NULL);
    return 7;
}

int main(int argc, char **argv)
{
    int status;
    long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit(argc > 1 && strcmp(argv[1], "handles") == 0
                  ? handles()
                  : child(argc > 1 && strcmp(argv[1], "in") == 0));
    if (waitpid((pid_t)pid, &status, 0) != pid)
        return 1;
    printf("%d %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
           WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    return 0;
}
