#include "collector/perf_event.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

bool perf_signals_at_return(void)
{
    enum { MAJOR = 6, MINOR = 11 };
    struct utsname name;
    unsigned major, minor;
    if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2)
        return false;
    return major > MAJOR || (major == MAJOR && minor >= MINOR);
}

int perf_event_open(const struct perf_event *event, int32_t tid)
{
    struct perf_event_attr a = {
        .size = sizeof a,
        .type = event->type,
        .config = event->config,
        .sample_period = event->period,
        .disabled = !event->runs,
        .exclude_hv = 1,
        .exclude_kernel = event->exclude_kernel,
        .sigtrap = !event->silent,
        .remove_on_exec = !event->silent,
        .sig_data = event->value,
    };
    return (int)syscall(SYS_perf_event_open, &a, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}
