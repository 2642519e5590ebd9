#include <signal.h>
#include <time.h>

#include "runtime/thread.h"
#include "runtime/trigger/internal.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/sys.h"

/* struct sigevent of the kernel's ABI (asm-generic/siginfo.h), 64 bytes. */
struct kernel_sigevent {
    uint64_t value;
    int32_t signal;
    int32_t notify;
    int32_t tid;
    uint8_t padding[44];
};
_Static_assert(sizeof(struct kernel_sigevent) == 64, "the kernel's size");

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

/* On the CPU clock of a thread of this process, to which it sends. Negative errno on failure. */
static int timer_make(int32_t tid, uint32_t slot)
{
    struct kernel_sigevent event = {.value = signal_value(slot),
                                    .signal = (int32_t)rt.config->signal,
                                    .notify = SIGEV_THREAD_ID,
                                    .tid = tid};
    int timer = -1;
    long result = sys_call3_as(SYS_timer_create, thread_clock_of(tid), (long)&event, (long)&timer);
    return result < 0 ? (int)result : timer;
}

static void timer_set(int timer, uint64_t period)
{
    struct itimerspec spec = {timespec_of(period), timespec_of(period)};
    sys_call6_as(SYS_timer_settime, timer, 0, (long)&spec, 0, 0, 0);
}

int timer_open_as(struct rt_thread *t)
{
    int timer = timer_make(t->tid, t->slot);
    if (timer < 0)
        return -timer;
    t->timer = timer;
    return 0;
}

void timer_delete_as(struct rt_thread *t)
{
    if (t->timer >= 0)
        sys_call3_as(SYS_timer_delete, t->timer, 0, 0);
    t->timer = -1;
}

bool timer_arm_as(struct rt_thread *t)
{
    int error = timer_open_as(t);
    if (error) {
        guest.process->arm_error = (uint32_t)error;
        return false;
    }
    t->clock.group = 0; /* perf may have drawn one already */
    clock_draw_as(t);
    clock_start_as(t);
    trigger_resume_as(t);
    return true;
}

int timer_discover_as(int32_t tid)
{
    int timer = timer_make(tid, RT_SLOT_DISCOVERY);
    if (timer >= 0)
        timer_set(timer, discovery_pace_ns());
    return timer;
}

int timer_seek_open(int32_t tid, uint64_t cpu_ns)
{
    int timer = timer_make(tid, RT_SLOT_DISCOVERY);
    struct itimerspec once = {{0, 0}, timespec_of(cpu_ns)};
    if (timer >= 0)
        sys_call6_as(SYS_timer_settime, timer, 0, (long)&once, 0, 0, 0);
    return timer;
}

void timer_seek_close_as(int timer)
{
    sys_call3_as(SYS_timer_delete, timer, 0, 0);
}

void timer_set_period_as(const struct rt_thread *t, uint64_t period)
{
    timer_set(t->timer, period);
}
