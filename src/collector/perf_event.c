#include "collector/perf_event.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

static const char interrupts[] = "before Linux 6.11 they interrupt system calls that wait",
                  hangs[] = "Linux 6.11 to 6.14 can hang a thread that closes one; corrected in "
                            "6.12.24, 6.13.12 and 6.14.3";

const char *perf_hazard_of(const char *release)
{
    static const unsigned corrected[][2] = {{12, 24}, {13, 12}, {14, 3}};
    unsigned major = 0, minor = 0, patch = 0;
    sscanf(release, "%u.%u.%u", &major, &minor, &patch);
    if (major < 6 || (major == 6 && minor < 11))
        return interrupts;
    if (major > 6 || minor > 14)
        return NULL;
    for (unsigned i = 0; i < sizeof corrected / sizeof *corrected; i++)
        if (minor == corrected[i][0] && patch >= corrected[i][1])
            return NULL;
    return hangs;
}

/* Ubuntu's releases end in ".0". "Ubuntu 6.14.0-27.27-generic 6.14.8" in a file of its own ends in
 * the one that it is made of. */
static const char *ubuntu_hazard(const char *signature)
{
    char line[256];
    FILE *in = fopen(signature, "re");
    if (!in)
        return hangs;
    const char *last = fgets(line, sizeof line, in) ? strrchr(line, ' ') : NULL;
    fclose(in);
    return last ? perf_hazard_of(last + 1) : hangs;
}

const char *perf_hazard_by(const char *release, const char *signature)
{
    const char *hazard = perf_hazard_of(release);
    return hazard == hangs ? ubuntu_hazard(signature) : hazard;
}

const char *perf_kernel_hazard(void)
{
    struct utsname name;
    return uname(&name) ? interrupts : perf_hazard_by(name.release, "/proc/version_signature");
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
