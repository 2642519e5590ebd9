#include "tools/kernel_reads.h"

#include <sys/syscall.h>

/* `bytes` at one argument, or as many for each that another argument says. Arguments are numbered
 * from 1; 0: it reads nothing. Calls that are not here may read anything. */
struct call {
    uint16_t number;
    uint8_t pointer, length; /* arguments */
    uint16_t bytes;
};

enum { PATH_BYTES = 4096, SET = 8, TIMESPEC = 16 };
static const struct call calls[] = {
    {SYS_read, 0, 0, 0}, {SYS_write, 2, 3, 1}, {SYS_pread64, 0, 0, 0}, {SYS_pwrite64, 2, 3, 1},
    {SYS_sendto, 2, 3, 1}, {SYS_recvfrom, 0, 0, 0}, {SYS_close, 0, 0, 0}, {SYS_lseek, 0, 0, 0},
    {SYS_open, 1, 0, PATH_BYTES}, {SYS_openat, 2, 0, PATH_BYTES}, {SYS_stat, 1, 0, PATH_BYTES},
    {SYS_lstat, 1, 0, PATH_BYTES}, {SYS_fstat, 0, 0, 0}, {SYS_newfstatat, 2, 0, PATH_BYTES},
    {SYS_access, 1, 0, PATH_BYTES}, {SYS_readlink, 1, 0, PATH_BYTES},
    {SYS_unlink, 1, 0, PATH_BYTES}, {SYS_mmap, 0, 0, 0}, {SYS_munmap, 0, 0, 0},
    {SYS_mprotect, 0, 0, 0}, {SYS_brk, 0, 0, 0}, {SYS_mremap, 0, 0, 0}, {SYS_madvise, 0, 0, 0},
    {SYS_rt_sigprocmask, 2, 0, SET}, {SYS_getpid, 0, 0, 0}, {SYS_gettid, 0, 0, 0},
    {SYS_getppid, 0, 0, 0}, {SYS_getuid, 0, 0, 0}, {SYS_geteuid, 0, 0, 0}, {SYS_getgid, 0, 0, 0},
    {SYS_getegid, 0, 0, 0}, {SYS_sched_yield, 0, 0, 0}, {SYS_dup, 0, 0, 0}, {SYS_dup2, 0, 0, 0},
    {SYS_pipe, 0, 0, 0}, {SYS_pipe2, 0, 0, 0}, {SYS_nanosleep, 1, 0, TIMESPEC},
    {SYS_clock_nanosleep, 3, 0, TIMESPEC}, {SYS_clock_gettime, 0, 0, 0},
    {SYS_gettimeofday, 0, 0, 0}, {SYS_times, 0, 0, 0}, {SYS_getrusage, 0, 0, 0},
    {SYS_getrandom, 0, 0, 0}, {SYS_uname, 0, 0, 0}, {SYS_getcwd, 0, 0, 0},
    {SYS_ftruncate, 0, 0, 0}, {SYS_fsync, 0, 0, 0}, {SYS_fdatasync, 0, 0, 0},
    {SYS_fadvise64, 0, 0, 0}, {SYS_getdents64, 0, 0, 0}, {SYS_poll, 1, 2, 8},
    {SYS_epoll_wait, 0, 0, 0}, {SYS_epoll_ctl, 4, 0, 12}, {SYS_futex, 1, 0, 4},
    {SYS_kill, 0, 0, 0}, {SYS_tgkill, 0, 0, 0}, {SYS_wait4, 0, 0, 0}, {SYS_exit, 0, 0, 0},
    {SYS_exit_group, 0, 0, 0},
};

bool kernel_reads_as(const struct engine_thread *t, uint64_t *address, uint64_t *bytes)
{
    static const uint8_t registers[] = {0,          ENGINE_RDI, ENGINE_RSI, ENGINE_RDX,
                                        ENGINE_R10, ENGINE_R8,  ENGINE_R9};
    *address = *bytes = 0;
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
        const struct call *c = &calls[i];
        if (c->number != t->gpr[ENGINE_RAX])
            continue;
        uint64_t count = c->length ? t->gpr[registers[c->length]] : 1;
        *address = c->pointer ? t->gpr[registers[c->pointer]] : 0;
        *bytes = c->pointer ? count * c->bytes : 0;
        return !(count >> 32);
    }
    return false;
}
