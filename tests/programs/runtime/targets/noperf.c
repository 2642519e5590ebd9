/* Executes its arguments where perf_event_open is refused, as in a container. */
#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "execute_under.h"

#ifndef REFUSAL
#define REFUSAL EPERM
#endif

int main(int argc, char **argv)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | REFUSAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    return execute_under(code, sizeof code / sizeof *code, argc, argv);
}
