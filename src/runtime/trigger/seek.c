/* Finding the threads of a process that runs already: one inherited event on each of them, or where
 * perf events are refused a timer. Its first tick, in the thread itself, is where the thread gets
 * its state and its own trigger; then it slows down to the pace of discovery, for the sake of the
 * threads that its thread will make. */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "runtime/thread.h"
#include "runtime/trigger/internal.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/own_memory.h"
#include "sigsafe/sys.h"

/* CPU time until a thread arms itself. Longer than what is left of the collector's call when the
 * calling thread's own seeker is opened: a signal then would come upon an interrupted system
 * call. */
enum { FIRST_TICK_NS = 1000000 };

struct seeker {
    int32_t tid, fd; /* of a timer its id */
    bool seen;
};

static struct {
    struct seeker *list;
    uint32_t count, capacity;
    bool timers;
} seekers;

static struct seeker *seeker_find_as(int32_t tid)
{
    for (uint32_t i = 0; i < seekers.count; i++)
        if (seekers.list[i].tid == tid)
            return &seekers.list[i];
    return NULL;
}

/* A larger list replaces the old one, which is unmapped: no event has been enabled yet. */
static bool list_grow(void)
{
    uint32_t capacity = seekers.capacity ? seekers.capacity * 2 : 4096 / sizeof(struct seeker);
    long address = own_map_as(0, capacity * sizeof(struct seeker), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (sys_failed(address))
        return false;
    struct seeker *list = (struct seeker *)address;
    for (uint32_t i = 0; i < seekers.count; i++)
        list[i] = seekers.list[i];
    if (seekers.list)
        own_unmap_as(seekers.list, seekers.capacity * sizeof(struct seeker));
    seekers.list = list;
    seekers.capacity = capacity;
    return true;
}

bool trigger_seek(int32_t tid)
{
    if (seeker_find_as(tid))
        return true;
    if (seekers.count == seekers.capacity && !list_grow())
        return false;
    if (!seekers.count) {
        seekers.timers = guest.process->mechanism == MECHANISM_TIMER;
        if (seekers.timers)
            scan_begin_as(); /* for those that begin later */
    }
    int fd =
        seekers.timers ? timer_seek_open(tid, FIRST_TICK_NS) : perf_seek_open(tid, FIRST_TICK_NS);
    if (fd < 0) {
        if (seekers.timers)
            guest.process->arm_error = (uint32_t)-fd;
        return false;
    }
    seekers.list[seekers.count++] = (struct seeker){tid, fd, false};
    return true;
}

uint32_t trigger_seek_start(void)
{
    for (uint32_t i = 0; i < seekers.count && !seekers.timers; i++)
        sys_call3_as(SYS_ioctl, seekers.list[i].fd, PERF_EVENT_IOC_ENABLE, 0);
    return seekers.count;
}

bool trigger_seek_tick_as(int32_t tid)
{
    uint64_t pace = discovery_pace_ns();
    struct seeker *s = seeker_find_as(tid);
    if (!s || s->seen)
        return false;
    s->seen = true;
    if (seekers.timers)
        timer_seek_close_as(s->fd);
    else if (s->fd >= 0)
        sys_call3_as(SYS_ioctl, s->fd, PERF_EVENT_IOC_PERIOD, (long)&pace);
    return true;
}

void seek_yield_as(void)
{
    for (uint32_t i = 0; i < seekers.count && !seekers.timers; i++) {
        int fd = __atomic_exchange_n(&seekers.list[i].fd, -1, __ATOMIC_RELAXED);
        if (fd >= 0)
            sys_call3_as(SYS_close, fd, 0, 0);
    }
}

/* A timer ticks once only, and what comes then finds the recording stopped. */
void trigger_seek_stop_as(void)
{
    for (uint32_t i = 0; i < seekers.count && !seekers.timers; i++)
        sys_call3_as(SYS_ioctl, seekers.list[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

bool trigger_seek_owns_as(int fd)
{
    for (uint32_t i = 0; i < seekers.count && !seekers.timers; i++)
        if (seekers.list[i].fd == fd)
            return true;
    return false;
}

void trigger_seek_close_as(void)
{
    uint32_t count = seekers.count;
    seekers.count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (seekers.timers && !seekers.list[i].seen)
            timer_seek_close_as(seekers.list[i].fd);
        else if (!seekers.timers && seekers.list[i].fd >= 0)
            sys_call3_as(SYS_close, seekers.list[i].fd, 0, 0);
}
