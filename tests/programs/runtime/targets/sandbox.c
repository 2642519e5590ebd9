/* Allows itself only what it needs (a seccomp filter that kills; with an argument, by syscall() at
 * once), then works and forks: a handler that made a system call would kill it, and so would what
 * runs in the child of a fork. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

#define ALLOW(number)                                                                              \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

int main(int argc, char **argv)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_write),
        ALLOW(SYS_prctl),
        ALLOW(SYS_exit_group),
        ALLOW(SYS_rt_sigreturn),
        ALLOW(SYS_rt_sigprocmask),
        ALLOW(SYS_clone),
        ALLOW(SYS_set_robust_list),
        ALLOW(SYS_wait4),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    puts("begin");
    fflush(stdout);
    (void)argv;
    if (argc > 1) { /* as libseccomp does it; without new privileges given up it needs some */
        if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
            return 1;
    } else if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
               prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        return 1;
    }
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) /* a second stage */
        return 3;
    volatile unsigned long r = spin(500000000);
    (void)r;
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(7);
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
        return 2;
    write(1, "end\n", 4);
    return 0;
}
