/* Ends of processes, unloading of libraries, sandboxes, and our descriptors. */
#include "runtime/process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "runtime/carrier/carrier.h"
#include "guest/images.h"
#include "runtime/interpose/real.h"
#include "runtime/interpose/syscall_layout.h"
#include "runtime/interpose/vfork.h"
#include "runtime/kept_files.h"
#include "runtime/sandbox.h"
#include "runtime/sandbox_filter.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/sys.h"

EXPORT int dlclose(void *handle)
{
    int result = REAL(dlclose)(handle);
    sandbox_in_as(NULL);
    if (rt_running_as() && !rt_quiet_as()) {
        images_refresh();
        CARRIER_TELL(images_changed, ());
    }
    sandbox_out_as(NULL, 0);
    return result;
}

EXPORT void _exit(int status)
{
    process_end_as();
    REAL(_exit)(status);
    __builtin_unreachable();
}

EXPORT void _Exit(int status)
{
    process_end_as();
    REAL(_Exit)(status);
    __builtin_unreachable();
}

/* A filter is noted before it is there, the first one. Who gives none only asks whether there are
 * such (Firefox): that fails, but where memory begins at address 0. So does who asks for the strict
 * mode with a flag, which has none (libseccomp). True: to be noted when it has succeeded. */
static bool sandbox_expect(bool only_asks)
{
    /* a second filter: under the first one that would be deadly to look at */
    if (sandbox_is_there_as())
        return false;
    process_adopt();
    if (process_foreign_as())
        return false;
    if (!only_asks)
        sandbox_begins();
    return only_asks;
}

static bool is_installed(long result, long flags)
{
    return result == 0 || (result > 0 && flags & (long)SECCOMP_FILTER_FLAG_NEW_LISTENER);
}

/* What makes every sample of the calling thread deadly, for as long as it lives. */
static bool is_deadly(int option, unsigned long first)
{
    switch (option) {
    case PR_SET_TSC: return first == PR_TSC_SIGSEGV;
    case PR_SET_SYSCALL_USER_DISPATCH: return first != PR_SYS_DISPATCH_OFF;
    /* takes the time stamp counter away, too */
    case PR_SET_SECCOMP: return first == SECCOMP_MODE_STRICT;
    default: return false;
    }
}

/* What a vfork child enters is its own. */
static void child_confines(void)
{
    if (rt_profiled_as() && vfork_is_child_as())
        vfork_child_confines();
}

/* A filter that does not let our calls pass is a sandbox: from then on our handlers make none.
 * Giving up new privileges is not: it forbids no system call. */
static int process_control(int option, const unsigned long *argument)
{
    struct sandbox_filter filter;
    bool pending = false,
         is_filter = option == PR_SET_SECCOMP && argument[0] == SECCOMP_MODE_FILTER;
    if (is_filter || is_deadly(option, argument[0]))
        child_confines();
    if (is_deadly(option, argument[0])) {
        filter = sandbox_thread_comes(option != PR_SET_TSC);
    } else if (!is_filter || !sandbox_filter_passes(argument[1], false, &filter)) {
        if (option == PR_SET_SECCOMP)
            pending = sandbox_expect(is_filter && !argument[1]);
        filter = sandbox_filter_comes(is_filter ? argument[1] : 0, false);
    }
    int result = REAL(prctl)(option, argument[0], argument[1], argument[2], argument[3]);
    sandbox_filter_came(&filter, result == 0);
    if (pending && result == 0)
        sandbox_begins();
    return result;
}

EXPORT int prctl(int option, ...)
{
    va_list list;
    unsigned long argument[4];
    va_start(list, option);
    for (int i = 0; i < 4; i++)
        argument[i] = va_arg(list, unsigned long);
    va_end(list);
    return process_control(option, argument);
}

/* What interpose/syscall.S hands on. */
long prctl_by_number(long number, long option, long a, long b, long c, long d);
long prctl_by_number(long number, long option, long a, long b, long c, long d)
{
    const unsigned long argument[4] = {(unsigned long)a, (unsigned long)b, (unsigned long)c,
                                       (unsigned long)d};
    (void)number;
    return process_control((int)option, argument);
}

/* libc's own syscall(), to which interpose/syscall.S goes on. */
extern struct real_place syscall_place;
struct real_place syscall_place REAL_PLACE = {"syscall", NULL};
_Static_assert(offsetof(struct real_place, found) == SYSCALL_PLACE_FOUND,
               "read by interpose/syscall.S");

/* What interpose/syscall.S hands on; with privileges it can be the first that is seen of a
 * sandbox. */
long seccomp_by_number(long number, long operation, long flags, long filter);
long seccomp_by_number(long number, long operation, long flags, long filter)
{
    struct sandbox_filter looked;
    bool pending = false, is_filter = operation == SECCOMP_SET_MODE_FILTER,
         all = flags & (long)SECCOMP_FILTER_FLAG_TSYNC;
    if (is_filter || operation == SECCOMP_SET_MODE_STRICT)
        child_confines();
    if (operation == SECCOMP_SET_MODE_STRICT && !(uint32_t)flags && !filter) {
        looked = sandbox_thread_comes(true);
    } else if (!is_filter || !sandbox_filter_passes((uint64_t)filter, all, &looked)) {
        if (is_filter || operation == SECCOMP_SET_MODE_STRICT)
            pending = sandbox_expect(is_filter ? !filter : true);
        looked = sandbox_filter_comes(is_filter ? (uint64_t)filter : 0, all);
    }
    long result = sys_call3_as(number, operation, flags, filter);
    sandbox_filter_came(&looked, is_installed(result, flags));
    if (pending && result >= 0)
        sandbox_begins();
    return result < 0 ? call_failed(result) : result;
}

/* Whoever is traced stops for each signal, and waits for its parent. */
EXPORT long ptrace(enum __ptrace_request request, ...)
{
    va_list list;
    va_start(list, request);
    pid_t pid = va_arg(list, pid_t);
    void *address = va_arg(list, void *), *data = va_arg(list, void *);
    va_end(list);
    if (request != PTRACE_TRACEME)
        return REAL(ptrace)(request, pid, address, data);
    vfork_child_unsample_as();
    struct sandbox_filter asked = sandbox_thread_comes(false);
    long result = REAL(ptrace)(request, pid, address, data);
    sandbox_filter_came(&asked, result == 0);
    return result;
}

/* Before the program enters a root in which there may be no /proc: without it the engine does not
 * know what may be executed. */
static bool proc_hold(void)
{
    return rt_profiled_as() && !rt_quiet_as() && !process_foreign_as() &&
           !kept_is_open_as(KEPT_PROC) && rt.carrier->translates && kept_open_as(KEPT_PROC) >= 0;
}

EXPORT int chroot(const char *path)
{
    bool opened = proc_hold();
    int result = REAL(chroot)(path);
    if (result != 0 && opened)
        kept_close(KEPT_PROC);
    return result;
}

static bool hidden(int fd)
{
    return rt_profiled_as() && fd >= trigger_lowest_fd_as() && trigger_owns_fd_as(fd);
}

/* The program takes a number for itself: it is the program's. */
EXPORT int dup2(int from, int to)
{
    if (hidden(to) && !process_foreign_as())
        trigger_yield_fd_as(to);
    return REAL(dup2)(from, to);
}

EXPORT int dup3(int from, int to, int flags)
{
    if (hidden(to) && !process_foreign_as())
        trigger_yield_fd_as(to);
    return REAL(dup3)(from, to, flags);
}

/* Who closes ours has seen it in /proc/self/fd, and complains if that fails (Chromium). */
EXPORT int close(int fd)
{
    return hidden(fd) ? 0 : REAL(close)(fd);
}

/* Closes the gaps between our descriptors, which lie at lowest and above. */
static int range_close(unsigned first, unsigned last, int flags)
{
    unsigned lowest = (unsigned)trigger_lowest_fd_as();
    if (!rt_profiled_as() || process_foreign_as() || last < lowest || first > last)
        return REAL(close_range)(first, last, flags);
    int result = 0;
    unsigned from = first;
    for (unsigned fd = first < lowest ? lowest : first; fd <= last && fd < lowest + RT_SLOTS * 2;
         fd++) {
        if (!trigger_owns_fd_as((int)fd))
            continue;
        if (fd > from)
            result = REAL(close_range)(from, fd - 1, flags);
        from = fd + 1;
        if (trigger_none_above_as((int)fd))
            break;
    }
    if (result == 0 && from <= last)
        result = REAL(close_range)(from, last, flags);
    return result;
}

EXPORT int close_range(unsigned first, unsigned last, int flags)
{
    return range_close(first, last, flags);
}

EXPORT void closefrom(int first)
{
    range_close(first < 0 ? 0 : (unsigned)first, ~0u, 0);
}
