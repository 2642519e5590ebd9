/* Finding threads that were not made by pthread_create, where there are no perf events; and, where
 * events that find them have gone (ticks.c), the end of the collector.
 *
 * Every RT_DISCOVERY_NS of elapsed time at most, the thread that takes a sample by its timer reads
 * the names of a few of the process's threads. One that nobody knows gets a timer on its own CPU
 * clock; what the timer sends is a tick of discovery, in that thread. */
#include <fcntl.h>

#include "runtime/attach.h"
#include "runtime/thread.h"
#include "runtime/trigger/internal.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/sys.h"

enum { CHUNK = 16, GIVEN_MOST = 64, NAMES_BYTES = 512, ESRCH_NUMBER = 3 };

static struct {
    bool on;             /* atomic */
    uint32_t busy;       /* by try only: another thread reads */
    uint64_t next_ticks; /* time stamp counter: not before */
    long position;       /* in the directory of threads */
    struct given {
        int32_t tid; /* 0: unused */
        int32_t timer;
    } given[GIVEN_MOST];
} scan;

/* The next few threads of the process; begins anew at the end. */
static unsigned threads_read(int32_t tids[CHUNK])
{
    _Alignas(8) uint8_t names[NAMES_BYTES];
    unsigned count = 0;
    int fd = (int)sys_call6_as(SYS_openat, AT_FDCWD, (long)"/proc/self/task",
                               O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, 0, 0);
    if (fd < 0)
        return 0;
    sys_call3_as(SYS_lseek, fd, scan.position, 0);
    long size = sys_call3_as(SYS_getdents64, fd, (long)names, sizeof names);
    if (size <= 0)
        scan.position = 0;
    for (long at = 0; at < size && count < CHUNK;) {
        const struct directory_entry *n =
            (const struct directory_entry *)(const void *)(names + at);
        tids[count] = directory_number_as(n->name);
        count += tids[count] != 0;
        scan.position = n->offset;
        at += n->length;
    }
    sys_call3_as(SYS_close, fd, 0, 0);
    return count;
}

/* Makes those 0 that are known. */
static void known_leave_out(int32_t tids[CHUNK], unsigned count)
{
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < used; i++) {
        const struct rt_thread *t = thread_at_as(i);
        for (unsigned k = 0; t && k < count; k++)
            if (tids[k] == t->tid)
                tids[k] = 0;
    }
}

static void given_take_back(struct given *g)
{
    if (g->tid)
        sys_call3_as(SYS_timer_delete, g->timer, 0, 0);
    g->tid = 0;
}

static void give(int32_t tid)
{
    struct given *empty = NULL;
    for (unsigned i = 0; i < GIVEN_MOST; i++) {
        struct given *g = &scan.given[i];
        if (g->tid == tid)
            return;
        if (!g->tid)
            empty = g;
    }
    if (!empty)
        return;
    int timer = timer_discover_as(tid);
    if (timer >= 0)
        *empty = (struct given){tid, timer};
}

/* Takes back the timers of threads that have ended, or have a clock of their own by now. */
static void given_look(void)
{
    for (unsigned i = 0; i < GIVEN_MOST; i++) {
        struct given *g = &scan.given[i];
        if (g->tid && (sys_call3_as(SYS_tgkill, guest.pid, g->tid, 0) == -ESRCH_NUMBER ||
                       thread_find_as(g->tid)))
            given_take_back(g);
    }
}

static void scan_some(void)
{
    int32_t tids[CHUNK];
    attach_look_for_collector_as();
    thread_reap_as();
    if (!rt_running_as() || !__atomic_load_n(&scan.on, __ATOMIC_ACQUIRE))
        return;
    unsigned count = threads_read(tids);
    known_leave_out(tids, count);
    for (unsigned i = 0; i < count; i++)
        if (tids[i])
            give(tids[i]);
    given_look();
}

void scan_begin_as(void)
{
    __atomic_store_n(&scan.on, true, __ATOMIC_RELEASE);
}

static bool is_needed(void)
{
    return __atomic_load_n(&scan.on, __ATOMIC_ACQUIRE) ||
           (rt.attached && __atomic_load_n(&guest.process->undiscovered, __ATOMIC_RELAXED));
}

void scan_look_as(uint64_t now_ticks)
{
    if (!is_needed() ||
        now_ticks < __atomic_load_n(&scan.next_ticks, __ATOMIC_RELAXED) ||
        __atomic_exchange_n(&scan.busy, 1, __ATOMIC_ACQUIRE))
        return;
    uint64_t pause = spool_header(&guest.spool)->tsc_hz / 1000u * (RT_DISCOVERY_NS / 1000000u);
    __atomic_store_n(&scan.next_ticks, now_ticks + pause, __ATOMIC_RELAXED);
    scan_some();
    __atomic_store_n(&scan.busy, 0, __ATOMIC_RELEASE);
}

void scan_end_as(void)
{
    if (__atomic_exchange_n(&scan.busy, 1, __ATOMIC_ACQUIRE))
        return; /* whoever reads goes on with timers that send ticks into what has ended */
    for (unsigned i = 0; i < GIVEN_MOST; i++)
        given_take_back(&scan.given[i]);
    __atomic_store_n(&scan.busy, 0, __ATOMIC_RELEASE);
}

void scan_fork_child_as(void)
{
    for (unsigned i = 0; i < GIVEN_MOST; i++)
        scan.given[i].tid = 0; /* timers are not inherited */
    scan.busy = 0;
    scan.on = false;
    scan.position = 0;
}
