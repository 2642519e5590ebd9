#include "runtime/attach.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include "runtime/carrier/carrier.h"
#include "guest/images.h"
#include "runtime/interpose/real.h"
#include "runtime/interpose/redirect.h"
#include "runtime/interpose/signals.h"
#include "runtime/process.h"
#include "runtime/runtime.h"
#include "runtime/self.h"
#include "runtime/thread.h"
#include "runtime/trigger/internal.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/own_memory.h"
#include "sigsafe/sys.h"

enum { PAGE = 4096, AHEAD = 4 << 20, SCANS = 16 };

/* What the last recording left in place of its spool (see spool_release). */
static struct {
    uint8_t *base;
    uint64_t size;
} remains;

static bool once; /* what is registered with libc stays */

/* Opens the seeker of every thread but the calling one, which comes last. False: not one could be
 * opened that should have been. */
static bool threads_seek(int directory, int32_t self)
{
    char buffer[2048] __attribute__((aligned(8)));
    bool all = true;
    long n;
    sys_call3_as(SYS_lseek, directory, 0, SEEK_SET);
    while ((n = sys_call3_as(SYS_getdents64, directory, (long)buffer, sizeof buffer)) > 0)
        for (long at = 0; at < n;) {
            const struct directory_entry *entry = (const void *)(buffer + at);
            int32_t tid = directory_number_as(entry->name);
            at += entry->length;
            if (tid && tid != self)
                all &= trigger_seek(tid);
        }
    return all;
}

/* A thread that was made while the others were being looked through has no seeker, unless its maker
 * had one: so once more, until nothing is new. */
static bool events_open(void)
{
    int32_t self = (int32_t)sys_call3_as(SYS_gettid, 0, 0, 0);
    int directory = (int)sys_call6_as(SYS_openat, AT_FDCWD, (long)"/proc/self/task",
                                      O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, 0, 0);
    uint32_t before, now = 0;
    int scans = 0;
    do {
        before = now;
        if (directory >= 0)
            threads_seek(directory, self);
        now = trigger_seek_start();
    } while (now != before && ++scans < SCANS);
    if (directory >= 0)
        sys_call3_as(SYS_close, directory, 0, 0);
    bool own = trigger_seek(self);
    trigger_seek_start();
    return own;
}

static bool registered(void)
{
    if (!once)
        once = self_init() &&
               pthread_atfork(process_fork_prepare, process_fork_parent, process_fork_child) == 0;
    return once;
}

/* A thread may be inside a function of ours, with references into the spool. They stay valid, but
 * lead nowhere: zeroes of the process's own lie where the records were. */
static void spool_release(void)
{
    uint64_t used = __atomic_load_n(&spool_header(&guest.spool)->next, __ATOMIC_RELAXED) + AHEAD;
    used = used < guest.spool.mapped ? (used + PAGE - 1) / PAGE * PAGE : guest.spool.mapped;
    uint8_t *base = guest.spool.base;
    if (used < guest.spool.mapped)
        own_unmap_as(base + used, guest.spool.mapped - used);
    sys_call6_as(SYS_mmap, (long)base, (long)used, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    remains.base = base;
    remains.size = used;
}

static void remains_release(void)
{
    if (remains.base)
        own_unmap_as(remains.base, remains.size);
    remains.base = NULL;
}

static void threads_end(void)
{
    for (uint32_t i = 0; i < rt.slots_used; i++) {
        struct rt_thread *t = thread_at_as(i);
        if (t)
            thread_leave_as(t);
    }
    rt.slots_used = 0;
}

static void lifeline_close(void)
{
    if (rt.lifeline >= 0)
        sys_call3_as(SYS_close, rt.lifeline, 0, 0);
    rt.lifeline = -1;
}

static int give_up(int result)
{
    trigger_close_all_as();
    if (rt_profiled_as()) {
        __atomic_store_n(&guest.process->state, PROCESS_EXITED, __ATOMIC_RELEASE);
        rt.state = RT_UNOBSERVED;
    }
    if (guest.spool.base)
        spool_release();
    guest.spool = (struct spool){0};
    lifeline_close();
    return result;
}

EXPORT int penumbra_rt_attach(const struct attach_request *request)
{
    if (request->layout != SPOOL_LAYOUT)
        return ATTACH_VERSION;
    if (rt_profiled_as() || guest.spool.base)
        return rt_running_as() ? ATTACH_BUSY : ATTACH_STALE;
    remains_release();
    if (!guest_map(request->spool_fd, UINT64_MAX) || !runtime_config_take())
        return ATTACH_MEMORY;
    rt.attached = true;
    rt.retired = 0;
    guest.spool.quiet = 0;
    CARRIER_TELL(forget, ());
    rt.generation++;
    rt.lifeline = trigger_raise_fd_as((int)sys_call3_as(SYS_fcntl, request->lifeline_fd,
                                                        F_DUPFD_CLOEXEC, 0));
    if (!process_join() || !registered())
        return give_up(ATTACH_MEMORY);
    /* What leaves frames otherwise than by returning, and was loaded before us, does not pass
     * through us. */
    guest.process->trampoline = rt.config->trampoline ? TRAMPOLINE_ATTACHED : TRAMPOLINE_NOT_ASKED;
    if (!process_images_begin())
        return give_up(ATTACH_MEMORY);
    if (!signals_join())
        return give_up(ATTACH_SIGNAL);
    redirect_begin();
    if (events_open())
        return ATTACH_DONE;
    redirect_end();
    signals_leave();
    return give_up(ATTACH_EVENT);
}

EXPORT int penumbra_rt_detach(int step)
{
    if (!rt_profiled_as())
        return ATTACH_DONE;
    __atomic_store_n(&rt.retired, 1, __ATOMIC_RELEASE);
    if (step == ATTACH_SILENCE) {
        trigger_stop_all_as();
        return ATTACH_DONE;
    }
    if (!images_forget())
        return ATTACH_BUSY;
    trigger_close_all_as();
    CARRIER_TELL(program_ends_as, ());
    CARRIER_TELL(forget, ());
    threads_end();
    redirect_end();
    signals_leave();
    guest.process->end_ns = thread_monotonic_ns_as();
    rt.state = RT_UNOBSERVED;
    spool_release();
    guest.spool = (struct spool){0};
    lifeline_close();
    return ATTACH_DONE;
}

void attach_look_for_collector_as(void)
{
    struct pollfd end = {.fd = rt.lifeline, .events = 0, .revents = 0};
    if (!rt.attached || rt.lifeline < 0 || __atomic_load_n(&rt.retired, __ATOMIC_RELAXED))
        return;
    if (sys_call3_as(SYS_poll, (long)&end, 1, 0) != 1 || !(end.revents & POLLHUP))
        return;
    __atomic_store_n(&rt.retired, 1, __ATOMIC_RELEASE);
    trigger_stop_all_as();
}

bool attach_owns_fd_as(int fd)
{
    return fd == rt.lifeline && fd >= 0;
}
