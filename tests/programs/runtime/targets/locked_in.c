/* Works in a thread and in a child, after it has asked whether there are seccomp filters (as
 * Firefox and libseccomp do), or, with an argument, after it has worked and entered a sandbox whose
 * filter kills for a call that the runtime makes. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

static int asks(void)
{
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == 0 || errno != EFAULT ||
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL) == 0 ||
           errno != EFAULT || syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL) == 0 ||
           errno != EINVAL;
}

static int enters(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_tgsigqueueinfo, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void *work(void *argument)
{
    *(volatile unsigned long *)argument = spin(100000000);
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned long result;
    pthread_t thread;
    int status;
    (void)argv;
    if (argc > 1)
        work(&result);
    if (argc > 1 ? enters() : asks())
        return 1;
    if (pthread_create(&thread, NULL, work, &result) || pthread_join(thread, NULL))
        return 2;
    pid_t child = fork();
    if (child == 0) {
        work(&result);
        _exit(7);
    }
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
        return 3;
    puts("done");
    return 0;
}
