#include "runtime/sandbox_calls.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>

/* Handlers, triggers, the beginning and the end of threads and processes. */
static const struct sandbox_call always[] = {
    SANDBOX_PLAIN(rt_sigreturn), SANDBOX_PLAIN(rt_sigaction), SANDBOX_PLAIN(rt_sigprocmask),
    SANDBOX_PLAIN(rt_sigpending), SANDBOX_PLAIN(sigaltstack), SANDBOX_PLAIN(gettid),
    SANDBOX_PLAIN(getpid), SANDBOX_PLAIN(getppid), SANDBOX_PLAIN(clock_gettime),
    SANDBOX_PLAIN(openat), SANDBOX_PLAIN(read), SANDBOX_PLAIN(close), SANDBOX_PLAIN(lseek),
    SANDBOX_PLAIN(munmap), SANDBOX_PLAIN(madvise), SANDBOX_PLAIN(newfstatat),
    SANDBOX_PLAIN(pread64), SANDBOX_PLAIN(readlink), SANDBOX_PLAIN(faccessat),
    SANDBOX_PLAIN(sched_yield), SANDBOX_PLAIN(nanosleep), SANDBOX_PLAIN(futex),
    SANDBOX_PLAIN(prlimit64), SANDBOX_PLAIN(tgkill), SANDBOX_PLAIN(getdents64),
    SANDBOX_PLAIN(getrusage), SANDBOX_PLAIN(rt_tgsigqueueinfo), SANDBOX_PLAIN(rt_sigtimedwait),
    SANDBOX_PLAIN(timer_create), SANDBOX_PLAIN(timer_settime), SANDBOX_PLAIN(timer_delete),
    SANDBOX_AVOIDABLE(perf_event_open), SANDBOX_AVOIDABLE(process_vm_readv),
    SANDBOX_REFUSABLE(faccessat2), SANDBOX_WITH(mmap, 2, PROT_READ),
    SANDBOX_WITH(mmap, 2, PROT_READ | PROT_WRITE), SANDBOX_WITH(prctl, 0, PR_GET_NAME),
    SANDBOX_WITH(prctl, 0, PR_TASK_PERF_EVENTS_DISABLE), SANDBOX_WITH(fcntl, 1, F_DUPFD_CLOEXEC),
    SANDBOX_WITH(ioctl, 1, PERF_EVENT_IOC_ENABLE), SANDBOX_WITH(ioctl, 1, PERF_EVENT_IOC_DISABLE),
    SANDBOX_WITH(ioctl, 1, PERF_EVENT_IOC_REFRESH), SANDBOX_WITH(ioctl, 1, PERF_EVENT_IOC_PERIOD),
    SANDBOX_WITH(ioctl, 1, PERF_EVENT_IOC_ID)};

static bool pass_as(const struct sock_filter *code, uint32_t count,
                    const struct sandbox_calls *list, bool may_avoid, bool *avoid,
                    struct filter_state *states)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const struct sandbox_call *c = &list->calls[i];
        if (filter_spares_as(code, count, c->number, c->known ? &c->argument : NULL,
                             c->may_be_refused, states))
            continue;
        if (!c->may_be_avoided || !may_avoid)
            return false;
        *avoid = true;
    }
    return true;
}

bool sandbox_calls_pass_as(const struct sock_filter *code, uint32_t count,
                           const struct sandbox_calls *of_carrier, bool *avoid,
                           struct filter_state *states)
{
    bool may_avoid = *avoid;
    const struct sandbox_calls ours = {always, sizeof always / sizeof *always, of_carrier};
    const struct sandbox_calls *list = &ours;
    *avoid = false;
    while (list && pass_as(code, count, list, may_avoid, avoid, states))
        list = list->more;
    return !list;
}
