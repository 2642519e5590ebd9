/* Processes whose busy threads are all put into a sandbox by one of them, at any moment: a system
 * call that a handler makes there kills. Argument: how many. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

#define ALLOW(number)                                                                              \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static volatile unsigned long results[3];
static int begun; /* atomic: threads that libc makes no system calls for any more */

static void *work(void *result)
{
    __atomic_add_fetch(&begun, 1, __ATOMIC_RELEASE);
    *(volatile unsigned long *)result = spin(40000000);
    return NULL;
}

static int child(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_exit),
        ALLOW(SYS_exit_group),
        ALLOW(SYS_futex),
        ALLOW(SYS_madvise),
        ALLOW(SYS_rt_sigprocmask),
        ALLOW(SYS_rt_sigreturn),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)&results[i]) != 0)
            return 2;
    while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) != 3)
        results[0] = spin(10000);
    results[0] = spin(10000000);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
        return 3;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 7;
}

int main(int argc, char **argv)
{
    int status, wrong = 0;
    for (int i = argc > 1 ? atoi(argv[1]) : 1; i > 0; i--) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(child());
        if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
            wrong++;
    }
    printf("%d died\n", wrong);
    return wrong != 0;
}
