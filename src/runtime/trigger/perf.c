#include <asm-generic/errno-base.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include "runtime/attach.h"
#include "runtime/carrier/carrier.h"
#include "runtime/kept_files.h"
#include "runtime/thread.h"
#include "runtime/trigger/kernel.h"
#include "runtime/trigger/internal.h"
#include "runtime/trigger/trigger.h"
#include "runtime/trigger/turn.h"
#include "sigsafe/sys.h"

/* Where our descriptors start. The soft limit is for the program: ours lie above it, where the hard
 * limit leaves room, so that a program that opens all it may still gets as many as without us. A
 * very high soft limit would mean huge descriptor tables to copy at each fork: then they lie at
 * FD_BASE and up. */
enum { FD_SOFT_MAX = 1 << 16, FD_BASE = 1 << 12, FD_ROOM = RT_SLOTS * 2 };

static int lowest_fd = FD_BASE; /* atomic; only ever lowered after the first arming */
static uint32_t limit_lock;     /* the tid of the thread that holds it, or 0 */
static int discovery_fd = -1;

static void event_attributes(struct perf_event_attr *a, bool exclude_kernel, uint32_t slot,
                             uint32_t which)
{
    struct spool_trigger trigger = spool_trigger_at(rt.config, which);
    uint8_t *byte = (uint8_t *)a;
    for (unsigned i = 0; i < sizeof *a; i++)
        byte[i] = 0;
    a->size = sizeof *a;
    a->type = trigger.perf_type;
    a->config = trigger.perf_config;
    a->disabled = 1;
    a->exclude_hv = 1;
    a->exclude_kernel = exclude_kernel;
    a->sigtrap = 1;
    a->remove_on_exec = 1;
    a->sig_data = signal_value(slot);
}

static int event_open(struct perf_event_attr *a, int32_t tid)
{
    if (__atomic_load_n(&rt.avoids, __ATOMIC_SEQ_CST))
        return -EPERM;
    return (int)sys_call6_as(SYS_perf_event_open, (long)a, tid, -1, -1, PERF_FLAG_FD_CLOEXEC, 0);
}

/* Unless another thread has set a limit of its own meanwhile: then that one stays. */
static void limit_restore(const struct rlimit64 *limit, const struct rlimit64 *raised)
{
    struct rlimit64 seen = *raised;
    sys_call6_as(SYS_prlimit64, 0, RLIMIT_NOFILE, (long)limit, (long)&seen, 0, 0);
    if (seen.rlim_cur != raised->rlim_cur || seen.rlim_max != raised->rlim_max)
        sys_call6_as(SYS_prlimit64, 0, RLIMIT_NOFILE, (long)&seen, 0, 0, 0);
}

/* Opens an event on the thread `what` (0: the calling one), or takes the descriptor `what` if a is
 * NULL, and moves the descriptor out of the program's range. Negative errno on failure. Whoever
 * calls it holds the lock. */
static int event_open_high(struct perf_event_attr *a, int32_t what)
{
    struct rlimit64 limit = {0, 0};
    sys_call6_as(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit, 0, 0);
    bool above = limit.rlim_cur <= FD_SOFT_MAX && limit.rlim_max > limit.rlim_cur;
    int base = above ? (int)limit.rlim_cur : FD_BASE;
    if (!above && limit.rlim_cur <= FD_BASE)
        base = (int)limit.rlim_cur / 2;
    struct rlimit64 raised = limit;
    if (above) {
        raised.rlim_cur = limit.rlim_cur + FD_ROOM;
        if (raised.rlim_cur > limit.rlim_max)
            raised.rlim_cur = limit.rlim_max;
        sys_call6_as(SYS_prlimit64, 0, RLIMIT_NOFILE, (long)&raised, 0, 0, 0);
    }
    int low = a ? event_open(a, what) : what;
    int fd = low;
    if (low >= 0) {
        fd = (int)sys_call3_as(SYS_fcntl, low, F_DUPFD_CLOEXEC, base);
        sys_call3_as(SYS_close, low, 0, 0);
    }
    if (above)
        limit_restore(&limit, &raised);
    if (fd >= 0 && base < __atomic_load_n(&lowest_fd, __ATOMIC_RELAXED))
        __atomic_store_n(&lowest_fd, base, __ATOMIC_RELAXED);
    return fd;
}

/* False if this handler has interrupted its own thread in there. Others are waited for: whoever has
 * been preempted there has others before it on its processor, so that yielding this one is not
 * enough. */
static bool limit_lock_as(void)
{
    enum { YIELDS = 100, PAUSES = 500 };
    static const struct timespec pause = {.tv_nsec = 200000};
    uint32_t self = (uint32_t)sys_call3_as(SYS_gettid, 0, 0, 0);
    for (int tries = 0; tries < YIELDS + PAUSES; tries++) {
        uint32_t holder = 0;
        if (__atomic_compare_exchange_n(&limit_lock, &holder, self, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return true;
        if (holder == self)
            return false;
        if (tries < YIELDS)
            sys_call3_as(SYS_sched_yield, 0, 0, 0);
        else
            sys_call3_as(SYS_nanosleep, (long)&pause, 0, 0);
    }
    return false;
}

static int open_patiently(struct perf_event_attr *a, int32_t what)
{
    if (!limit_lock_as())
        return -EBUSY;
    int fd = event_open_high(a, what);
    __atomic_store_n(&limit_lock, 0, __ATOMIC_RELEASE);
    return fd;
}

static int event_open_patiently(struct perf_event_attr *a)
{
    return open_patiently(a, 0);
}

int trigger_raise_fd_as(int fd)
{
    int raised = open_patiently(NULL, fd);
    if (raised == -EBUSY)
        sys_call3_as(SYS_close, fd, 0, 0);
    return raised;
}

/* Ticks come to all threads, those that have a trigger, too. They are to take some thirtieth of a
 * budget (a delivery takes twice as long as in the collector's loop), but a thread that is to be
 * found does not wait for ever. */
uint64_t discovery_pace_ns(void)
{
    enum { SHARE = 64, MOST_NS = 500000000 };
    uint64_t ppm = rt.config->budget_ppm,
             pace = ppm ? UINT64_C(1000000) * SHARE * rt.config->delivery_ns / ppm : 0;
    if (pace > MOST_NS)
        pace = MOST_NS;
    return pace > RT_DISCOVERY_NS ? pace : RT_DISCOVERY_NS;
}

static void discovery_attributes(struct perf_event_attr *a, uint64_t period)
{
    event_attributes(a, guest.process->exclude_kernel, RT_SLOT_DISCOVERY, 0);
    a->type = PERF_TYPE_SOFTWARE;
    a->config = PERF_COUNT_SW_TASK_CLOCK;
    a->sample_period = period;
    a->inherit = 1;
    a->inherit_thread = 1;
}

/* The process has fewer privileges than the collector, or has dropped those that it had: then an
 * event without the kernel's part is still to be had. Of time that is waited, and of switches, that
 * would be nothing. */
static bool goes_without_kernel(int fd, uint32_t trigger)
{
    if (fd != -EACCES || guest.process->exclude_kernel || trigger == TRIGGER_WALL ||
        trigger == TRIGGER_CONTEXT_SWITCHES)
        return false;
    guest.process->exclude_kernel = 1;
    return true;
}

int perf_seek_open(int32_t tid, uint64_t period)
{
    struct perf_event_attr a;
    discovery_attributes(&a, period);
    int fd = open_patiently(&a, tid);
    if (goes_without_kernel(fd, rt.config->trigger)) {
        discovery_attributes(&a, period);
        fd = open_patiently(&a, tid);
    }
    if (fd < 0 && fd != -3) /* the thread is gone */
        guest.process->arm_error = (uint32_t)-fd;
    return fd;
}

/* Disabled, but for one overflow when the carrier wants it. */
static void stop_arm_as(struct rt_thread *t)
{
    struct perf_event_attr a;
    event_attributes(&a, guest.process->exclude_kernel, t->slot | STOP_SLOT, 0);
    a.type = PERF_TYPE_SOFTWARE;
    a.config = PERF_COUNT_SW_TASK_CLOCK;
    a.sample_period = 10000; /* the kernel's least */
    t->stop_fd = event_open_patiently(&a);
}

/* The descriptors that a thread has, by number; NULL: there are no more. */
static int32_t *descriptor_at(struct rt_thread *t, uint32_t i)
{
    enum { BY_NAME = 3 };
    if (i < BY_NAME)
        return i == 0 ? &t->fd : i == 1 ? &t->switch_fd : &t->stop_fd;
    return i - BY_NAME < t->other_count ? &t->others[i - BY_NAME].fd : NULL;
}

/* Of the trigger that counts. */
static int32_t *event_of(struct rt_thread *t)
{
    return t->which ? &t->others[t->which - 1].fd : &t->fd;
}

int perf_open_as(struct rt_thread *t)
{
    struct perf_event_attr a;
    int32_t *fd = event_of(t);
    event_attributes(&a, guest.process->exclude_kernel, signal_slot(t), t->which);
    a.sample_period = t->clock.period;
    if (!t->which)
        kernel_ask_as(&a);
    *fd = event_open_patiently(&a);
    if (goes_without_kernel(*fd, t->clock.trigger)) {
        a.exclude_kernel = 1;
        *fd = event_open_patiently(&a);
    }
    if (!t->which)
        kernel_open_as(t);
    if (*fd >= 0)
        return 0;
    int error = -*fd;
    *fd = -1;
    return error;
}

bool perf_arm_other_as(struct rt_thread *t)
{
    clock_draw_as(t);
    if (perf_open_as(t))
        return false;
    clock_start_as(t);
    return true;
}

void perf_fix_others_as(struct rt_thread *t)
{
    for (uint32_t which = 1; which <= t->other_count; which++) {
        struct rt_clock *clock = turn_clock_as(t, which);
        uint64_t mean = clock->mean * clock->multiple;
        int32_t fd = t->others[which - 1].fd;
        if (fd < 0 || clock->period == mean)
            continue;
        clock->age = RT_OLD;
        clock->period = mean;
        sys_call3_as(SYS_ioctl, fd, PERF_EVENT_IOC_PERIOD, (long)&mean);
    }
}

bool perf_arm_as(struct rt_thread *t)
{
    clock_draw_as(t);
    if (ticks_begin_with_as(t))
        return true;
    int error = perf_open_as(t);
    if (error) {
        guest.process->arm_error = (uint32_t)error;
        return false;
    }
    if (t->clock.trigger == TRIGGER_WALL) {
        struct perf_event_attr s;
        event_attributes(&s, false, t->slot, 0);
        s.type = PERF_TYPE_SOFTWARE;
        s.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
        s.sample_period = 1;
        t->switch_fd = event_open_patiently(&s);
        watch_arm_as(t);
    }
    if (CARRIER_ASK(stops_threads, ()))
        stop_arm_as(t);
    clock_start_as(t);
    ticks_arm_as(t);
    trigger_resume_as(t);
    return true;
}

bool trigger_allowed_as(void)
{
    struct perf_event_attr a;
    if (!guest.process->unarmed || guest.process->mechanism != MECHANISM_PERF)
        return true;
    event_attributes(&a, guest.process->exclude_kernel, RT_SLOT_DISCOVERY, 0);
    a.sample_period = 1;
    int fd = event_open_patiently(&a);
    if (fd >= 0)
        sys_call3_as(SYS_close, fd, 0, 0);
    return fd >= 0;
}

void trigger_stop_thread_as(const struct rt_thread *t, bool on)
{
    sys_call3_as(SYS_ioctl, t->stop_fd,
                 on ? PERF_EVENT_IOC_REFRESH : PERF_EVENT_IOC_DISABLE, on);
}

void perf_set_period_as(struct rt_thread *t, uint64_t period)
{
    sys_call3_as(SYS_ioctl, *event_of(t), PERF_EVENT_IOC_PERIOD, (long)&period);
}

uint64_t perf_count_as(const struct rt_thread *t)
{
    uint64_t count = 0;
    int32_t fd = t->which ? t->others[t->which - 1].fd : t->fd;
    if (sys_call3_as(SYS_read, fd, (long)&count, sizeof count) != sizeof count)
        return 0;
    return count;
}

/* The descriptor's number could have been closed and reused by a program that closes what it does
 * not own by raw system calls: only an event answers this. */
static bool fd_is_event(int fd)
{
    uint64_t id;
    return sys_call3_as(SYS_ioctl, fd, PERF_EVENT_IOC_ID, (long)&id) == 0;
}

static void event_close(int *fd)
{
    if (*fd >= 0 && fd_is_event(*fd))
        sys_call3_as(SYS_close, *fd, 0, 0);
    *fd = -1;
}

static void events_close(struct rt_thread *t)
{
    int32_t *fd;
    kernel_close_as(t);
    for (uint32_t i = 0; (fd = descriptor_at(t, i)) != NULL; i++)
        event_close(fd);
}

void perf_close_as(struct rt_thread *t)
{
    kernel_close_as(t);
    event_close(&t->fd);
}

void perf_close_switches_as(struct rt_thread *t)
{
    event_close(&t->switch_fd);
}

void perf_discovery_close_as(void)
{
    if (__atomic_exchange_n(&guest.process->undiscovered, 1, __ATOMIC_RELAXED))
        return;
    seek_yield_as();
    event_close(&discovery_fd);
}

void trigger_disarm_as(struct rt_thread *t)
{
    events_close(t);
    timer_delete_as(t);
}

static void close_plainly(int *fd)
{
    if (*fd >= 0)
        sys_call3_as(SYS_close, *fd, 0, 0);
    *fd = -1;
}

void trigger_abandon_as(struct rt_thread *t)
{
    int32_t *fd;
    if (t)
        kernel_abandon_as(t);
    for (uint32_t i = 0; t && (fd = descriptor_at(t, i)) != NULL; i++)
        close_plainly(fd);
    close_plainly(&discovery_fd);
}

void trigger_abandon_all_as(void)
{
    for (uint32_t i = 0; i < rt.slots_used; i++) {
        if (thread_at_as(i))
            kernel_forget_as(thread_at_as(i));
        trigger_abandon_as(thread_at_as(i));
    }
}

void trigger_forget_as(struct rt_thread *t)
{
    int32_t *fd;
    kernel_forget_as(t);
    for (uint32_t i = 0; (fd = descriptor_at(t, i)) != NULL; i++)
        *fd = -1;
    t->timer = -1;
}

static void event_control(const struct rt_thread *t, unsigned long request, bool first)
{
    if (first && t->fd >= 0)
        sys_call3_as(SYS_ioctl, t->fd, (long)request, 0);
    if (t->switch_fd >= 0)
        sys_call3_as(SYS_ioctl, t->switch_fd, (long)request, 0);
    for (uint32_t i = 0; i < t->other_count; i++)
        if (t->others[i].fd >= 0)
            sys_call3_as(SYS_ioctl, t->others[i].fd, (long)request, 0);
}

void trigger_stop_timer_as(const struct rt_thread *t)
{
    if (t->timer >= 0)
        timer_set_period_as(t, 0);
}

static void events_stop(struct rt_thread *t)
{
    __atomic_store_n(&t->paused, true, __ATOMIC_SEQ_CST);
    cpu_clock_forget_as(t);
    event_control(t, PERF_EVENT_IOC_DISABLE, true);
}

void trigger_pause_as(struct rt_thread *t)
{
    events_stop(t);
    trigger_stop_timer_as(t);
}

/* Its limit, of one expiration, or none if that has come, and then it is disabled: the limit
 * becomes none at all, or 2^32 - 1. */
void perf_go_on_as(const struct rt_thread *t)
{
    if (t->fd >= 0)
        sys_call3_as(SYS_ioctl, t->fd, PERF_EVENT_IOC_REFRESH, -1);
}

/* The first trigger's. */
static void event_start(struct rt_thread *t)
{
    bool limit = t->clock.once && !t->clock.limited;
    cpu_clock_forget_as(t);
    if (t->fd >= 0)
        sys_call3_as(SYS_ioctl, t->fd, limit ? PERF_EVENT_IOC_REFRESH : PERF_EVENT_IOC_ENABLE,
                     limit);
    t->clock.limited = t->clock.once;
}

static void timer_start(struct rt_thread *t)
{
    if (t->timer >= 0)
        timer_set_period_as(t, turn_clock_as(t, 0)->period);
}

void trigger_resume_events_as(struct rt_thread *t)
{
    __atomic_store_n(&t->paused, false, __ATOMIC_SEQ_CST);
    event_start(t);
    event_control(t, PERF_EVENT_IOC_ENABLE, false);
}

/* What it stands still for may come meanwhile, in that very thread. */
void trigger_resume_as(struct rt_thread *t)
{
    if (thread_takes_samples_as(t)) {
        trigger_resume_events_as(t);
        timer_start(t);
    }
    if (!thread_takes_samples_as(t))
        trigger_pause_as(t);
}

/* Whoever pauses it between the two looks may have stopped what had not begun yet. */
void trigger_go_on_as(struct rt_thread *t)
{
    if (__atomic_load_n(&t->paused, __ATOMIC_SEQ_CST))
        return;
    event_start(t);
    timer_start(t);
    if (__atomic_load_n(&t->paused, __ATOMIC_SEQ_CST))
        trigger_pause_as(t);
}

bool trigger_is_armed_as(const struct rt_thread *t)
{
    return t->which ? t->others[t->which - 1].fd >= 0 : t->fd >= 0 || t->timer >= 0;
}

bool trigger_any_armed_as(const struct rt_thread *t)
{
    bool armed = t->fd >= 0 || t->timer >= 0;
    for (uint32_t i = 0; i < t->other_count; i++)
        armed |= t->others[i].fd >= 0;
    return armed;
}

void trigger_silence_events_as(struct rt_thread *t)
{
    events_stop(t);
    if (t->stop_fd >= 0)
        trigger_stop_thread_as(t, false);
}

void trigger_silence_as(struct rt_thread *t)
{
    trigger_silence_events_as(t);
    trigger_stop_timer_as(t);
}

/* Its signals come to every thread: also to one whose alternate stack is too small for them, or
 * that has blocked them for the kernel. */
static bool discovery_may(void)
{
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < used; i++) {
        const struct rt_thread *t = thread_at_as(i);
        if (t && t->alternate.too_short)
            return false;
    }
    return !signals_yield_as();
}

void trigger_discover_as(void)
{
    struct perf_event_attr a;
    discovery_attributes(&a, discovery_pace_ns());
    a.disabled = !discovery_may();
    discovery_fd = event_open_patiently(&a);
}

void trigger_pause_discovery_as(void)
{
    if (discovery_fd >= 0)
        sys_call3_as(SYS_ioctl, discovery_fd, PERF_EVENT_IOC_DISABLE, 0);
}

void trigger_resume_discovery_as(void)
{
    if (discovery_fd >= 0 && discovery_may())
        sys_call3_as(SYS_ioctl, discovery_fd, PERF_EVENT_IOC_ENABLE, 0);
}

void trigger_stop_all_as(void)
{
    for (uint32_t i = 0; i < rt.slots_used; i++) {
        struct rt_thread *t = thread_at_as(i);
        if (t)
            trigger_pause_as(t);
    }
    trigger_seek_stop_as();
    trigger_pause_discovery_as();
    scan_end_as();
}

void trigger_close_all_as(void)
{
    for (uint32_t i = 0; i < rt.slots_used; i++) {
        struct rt_thread *t = thread_at_as(i);
        if (t)
            trigger_disarm_as(t);
    }
    trigger_seek_close_as();
    event_close(&discovery_fd);
    scan_end_as();
}

void trigger_fork_child_as(void)
{
    for (uint32_t i = 0; i < rt.slots_used; i++) {
        struct rt_thread *t = rt.slots[i];
        if (!t)
            continue;
        kernel_forget_as(t);
        events_close(t);
        t->timer = -1; /* timers are not inherited */
    }
    event_close(&discovery_fd);
    trigger_seek_close_as();
    scan_fork_child_as();
    limit_lock = 0;
}

static int32_t *descriptor_find(struct rt_thread *t, int fd)
{
    int32_t *ours;
    for (uint32_t i = 0; (ours = descriptor_at(t, i)) != NULL; i++)
        if (*ours == fd)
            return ours;
    return NULL;
}

bool trigger_owns_fd_as(int fd)
{
    if (fd < __atomic_load_n(&lowest_fd, __ATOMIC_RELAXED))
        return false;
    if (fd == discovery_fd || trigger_seek_owns_as(fd) ||
        attach_owns_fd_as(fd) || kept_owns_as(fd))
        return true;
    for (uint32_t i = 0; i < rt.slots_used; i++) {
        struct rt_thread *t = thread_at_as(i);
        if (t && descriptor_find(t, fd))
            return true;
    }
    return false;
}

void trigger_yield_fd_as(int fd)
{
    if (fd == discovery_fd)
        event_close(&discovery_fd);
    kept_yield_as(fd);
    for (uint32_t i = 0; i < rt.slots_used; i++) {
        struct rt_thread *t = thread_at_as(i);
        int32_t *ours = t ? descriptor_find(t, fd) : NULL;
        if (ours)
            event_close(ours);
    }
}

bool trigger_none_above_as(int fd)
{
    if (discovery_fd > fd || kept_above_as(fd))
        return false;
    for (uint32_t i = 0; i < rt.slots_used; i++) {
        struct rt_thread *t = thread_at_as(i);
        const int32_t *ours;
        for (uint32_t k = 0; t && (ours = descriptor_at(t, k)) != NULL; k++)
            if (*ours > fd)
                return false;
    }
    return true;
}

int trigger_lowest_fd_as(void)
{
    return __atomic_load_n(&lowest_fd, __ATOMIC_RELAXED);
}
