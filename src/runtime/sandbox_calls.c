#include "runtime/sandbox_calls.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

struct call {
    uint16_t number;
    bool may_be_refused; /* it is asked for, and done without */
    bool known;          /* `argument` is */
    struct filter_argument argument;
};

#define PLAIN(name) {.number = SYS_##name}
#define REFUSABLE(name) {.number = SYS_##name, .may_be_refused = true}
#define WITH(name, index, value) {.number = SYS_##name, .known = true, .argument = {index, (uint32_t)(value)}}

/* Handlers, triggers, the beginning and the end of threads and processes. */
static const struct call always[] = {
    PLAIN(rt_sigreturn), PLAIN(rt_sigaction), PLAIN(rt_sigprocmask), PLAIN(rt_sigpending), PLAIN(sigaltstack), PLAIN(gettid), PLAIN(getpid),
    PLAIN(getppid), PLAIN(clock_gettime), PLAIN(openat), PLAIN(read), PLAIN(close), PLAIN(lseek), PLAIN(munmap), PLAIN(madvise),
    PLAIN(newfstatat), PLAIN(pread64), PLAIN(readlink), PLAIN(faccessat), PLAIN(sched_yield), PLAIN(nanosleep), PLAIN(futex),
    PLAIN(prlimit64), PLAIN(tgkill), PLAIN(getdents64), PLAIN(getrusage),
    PLAIN(rt_tgsigqueueinfo), PLAIN(rt_sigtimedwait), PLAIN(timer_create), PLAIN(timer_settime), PLAIN(timer_delete),
    REFUSABLE(perf_event_open), REFUSABLE(process_vm_readv), REFUSABLE(faccessat2),
    WITH(mmap, 2, PROT_READ), WITH(mmap, 2, PROT_READ | PROT_WRITE),
    WITH(prctl, 0, PR_GET_NAME), WITH(prctl, 0, PR_TASK_PERF_EVENTS_DISABLE), WITH(fcntl, 1, F_DUPFD_CLOEXEC),
    WITH(ioctl, 1, PERF_EVENT_IOC_ENABLE), WITH(ioctl, 1, PERF_EVENT_IOC_DISABLE), WITH(ioctl, 1, PERF_EVENT_IOC_REFRESH),
    WITH(ioctl, 1, PERF_EVENT_IOC_PERIOD), WITH(ioctl, 1, PERF_EVENT_IOC_ID)};

static const struct call in_engine[] = {PLAIN(mmap), PLAIN(mprotect), PLAIN(arch_prctl), PLAIN(ioctl), PLAIN(exit), PLAIN(mremap)};

static const struct call in_shadows[] = {
    PLAIN(clone), PLAIN(prctl), PLAIN(fcntl), PLAIN(fstat), PLAIN(kill), PLAIN(wait4), PLAIN(dup3), PLAIN(setsid), PLAIN(write),
    PLAIN(memfd_create), PLAIN(fallocate), PLAIN(sendfile), PLAIN(close_range), PLAIN(set_tid_address), PLAIN(get_robust_list),
    PLAIN(set_robust_list), PLAIN(rseq), PLAIN(sched_setscheduler), PLAIN(sched_setaffinity), PLAIN(exit_group), PLAIN(getdents64),
    PLAIN(getrusage), PLAIN(getpgid), PLAIN(getsid), PLAIN(getpgrp), PLAIN(getsockopt), PLAIN(getsockname), PLAIN(getpeername),
    PLAIN(epoll_ctl), PLAIN(epoll_pwait2), PLAIN(uname), PLAIN(setpriority)};

#define COUNT(table) (uint32_t)(sizeof(table) / sizeof *(table))

bool sandbox_calls_pass_as(const struct sock_filter *code, uint32_t count, bool engine, bool shadows, struct filter_state *states)
{
    const struct {
        const struct call *calls;
        uint32_t count;
    } tables[] = {{always, COUNT(always)},
                  {in_engine, engine || shadows ? COUNT(in_engine) : 0},
                  {in_shadows, shadows ? COUNT(in_shadows) : 0}};
    for (unsigned t = 0; t < sizeof tables / sizeof *tables; t++)
        for (uint32_t i = 0; i < tables[t].count; i++) {
            const struct call *c = &tables[t].calls[i];
            if (!filter_spares_as(code, count, c->number, c->known ? &c->argument : NULL, c->may_be_refused, states))
                return false;
        }
    return true;
}
