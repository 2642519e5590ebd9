/* Executes its arguments where the kernel refuses ptrace(PTRACE_TRACEME), prctl(PR_SET_TSC) and
 * prctl(PR_SET_SYSCALL_USER_DISPATCH), as in a container. */
#include <errno.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "execute_under.h"

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define EQUAL(what, jt, jf) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, what, jt, jf)

int main(int argc, char **argv)
{
    struct sock_filter code[] = {
        LOAD(nr),
        EQUAL(SYS_ptrace, 0, 2),
        LOAD(args[0]),
        EQUAL(PTRACE_TRACEME, 4, 5),
        EQUAL(SYS_prctl, 0, 4),
        LOAD(args[0]),
        EQUAL(PR_SET_TSC, 1, 0),
        EQUAL(PR_SET_SYSCALL_USER_DISPATCH, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    return execute_under(code, sizeof code / sizeof *code, argc, argv);
}
