#include <signal.h>
#include <time.h>

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

bool timer_open_as(struct rt_thread *t)
{
    struct kernel_sigevent event = {.value = signal_value(t->slot),
                                    .signal = (int32_t)rt.config->signal,
                                    .notify = SIGEV_THREAD_ID,
                                    .tid = t->tid};
    int timer = -1;
    long result = sys_call3_as(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, (long)&event, (long)&timer);
    if (result < 0)
        rt.process->arm_error = (uint32_t)-result;
    else
        t->timer = timer;
    return result >= 0;
}

void timer_delete_as(struct rt_thread *t)
{
    if (t->timer >= 0)
        sys_call3_as(SYS_timer_delete, t->timer, 0, 0);
    t->timer = -1;
}

bool timer_arm_as(struct rt_thread *t)
{
    if (!timer_open_as(t))
        return false;
    t->group = 0; /* perf may have drawn one already */
    clock_draw_as(t);
    clock_start_as(t);
    timer_set_period_as(t, t->period);
    return true;
}

void timer_set_period_as(const struct rt_thread *t, uint64_t period)
{
    struct itimerspec spec = {timespec_of(period), timespec_of(period)};
    sys_call6_as(SYS_timer_settime, t->timer, 0, (long)&spec, 0, 0, 0);
}
