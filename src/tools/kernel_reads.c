#include "tools/kernel_reads.h"

#include <sys/syscall.h>

/* Arguments are numbered from 1. */
struct part {
    uint8_t pointer, length; /* `bytes` there, or as many for each that `length` says; 0: none */
    uint16_t bytes;
};

/* What is read: up to the first part without a pointer. Calls that are not here may read
 * anything. */
struct call {
    uint16_t number;
    struct part parts[KERNEL_READS];
};

enum { PATH_BYTES = 4096, SET = 8, TIMESPEC = 16, WORD = 4, EVENT = 12, POLLED = 8 };
#define NOTHING(name) {SYS_##name, {{0, 0, 0}}}
#define PATH(name, argument) {SYS_##name, {{argument, 0, PATH_BYTES}}}
static const struct call calls[] = {
    NOTHING(read), NOTHING(pread64), NOTHING(close), NOTHING(lseek), NOTHING(fstat),
    NOTHING(mmap), NOTHING(munmap), NOTHING(mprotect), NOTHING(brk), NOTHING(mremap),
    NOTHING(madvise), NOTHING(getpid), NOTHING(gettid), NOTHING(getppid), NOTHING(getuid),
    NOTHING(geteuid), NOTHING(getgid), NOTHING(getegid), NOTHING(sched_yield), NOTHING(dup),
    NOTHING(dup2), NOTHING(pipe), NOTHING(pipe2), NOTHING(clock_gettime), NOTHING(gettimeofday),
    NOTHING(times), NOTHING(getrusage), NOTHING(getrandom), NOTHING(uname), NOTHING(getcwd),
    NOTHING(ftruncate), NOTHING(fsync), NOTHING(fdatasync), NOTHING(fadvise64),
    NOTHING(getdents64), NOTHING(epoll_wait), NOTHING(kill), NOTHING(tgkill), NOTHING(wait4),
    NOTHING(exit_group),
    PATH(open, 1), PATH(openat, 2), PATH(stat, 1), PATH(lstat, 1), PATH(newfstatat, 2),
    PATH(access, 1), PATH(readlink, 1), PATH(unlink, 1),
    {SYS_write, {{2, 3, 1}}},
    {SYS_pwrite64, {{2, 3, 1}}},
    {SYS_sendto, {{2, 3, 1}, {5, 6, 1}}},
    {SYS_recvfrom, {{6, 0, WORD}}},
    {SYS_rt_sigprocmask, {{2, 0, SET}}},
    {SYS_nanosleep, {{1, 0, TIMESPEC}}},
    {SYS_clock_nanosleep, {{3, 0, TIMESPEC}}},
    {SYS_poll, {{1, 2, POLLED}}},
    {SYS_epoll_ctl, {{4, 0, EVENT}}},
    /* The word, a timeout, a second word: as far as the operation has them. */
    {SYS_futex, {{1, 0, WORD}, {4, 0, TIMESPEC}, {5, 0, WORD}}},
};

static uint64_t argument(const struct engine_thread *t, unsigned number)
{
    static const uint8_t registers[] = {ENGINE_RDI, ENGINE_RSI, ENGINE_RDX,
                                        ENGINE_R10, ENGINE_R8,  ENGINE_R9};
    return hook_register(t, registers[number - 1]);
}

bool kernel_reads_as(const struct engine_thread *t, struct kernel_read out[KERNEL_READS],
                     unsigned *count)
{
    *count = 0;
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (calls[i].number != t->gpr[ENGINE_RAX])
            continue;
        for (const struct part *p = calls[i].parts; *count < KERNEL_READS && p->pointer; p++) {
            uint64_t times = p->length ? argument(t, p->length) : 1;
            if (times >> 32)
                return false;
            out[(*count)++] = (struct kernel_read){argument(t, p->pointer), times * p->bytes};
        }
        return true;
    }
    return false;
}
