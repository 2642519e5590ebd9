/* Threads that switch often are sampled at the kernel's ticks.
 *
 * A perf event that counts time is stopped and started at every context switch of its thread, and the processor's
 * timer is programmed each time: some microseconds, more on virtual machines. A timer on the thread's CPU clock costs
 * nothing there, but expires at kernel ticks only, 100 to 1000 times a second:
 *
 *     event ──── switches take more than 0.5% of the CPU time ─────────────────────> timer
 *     event <─── less than a quarter of that would, `patience` looks in a row ────── timer
 *
 * That is for switches in which the thread waits. Where it is preempted, it competes for the processor with others, which
 * ends when they do; so it takes PREEMPTED as many of those.
 *
 * Bursts and shadows keep their events: what comes at a tick may come in the middle of one.
 *
 * Each look costs a system call. A thread that has the processor to itself while its event runs down is not looked at.
 * An event that does not run costs half as much, so the thread's is closed, and so is the process's discovery event,
 * which every thread has inherited (the collector finds threads from then on: collector/record_discover.h). */
#include <sys/resource.h>

#include "runtime/carrier/carrier.h"
#include "runtime/thread.h"
#include "runtime/trigger/internal.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/sys.h"

enum {
    OFTEN = 200, /* of what a switch costs: 0.5% */
    OFTEN_LEAST_NS = 1000000,
    OFTEN_MOST_NS = 4000000,
    PREEMPTED = 8,
    SEEN_LEAST = 16,    /* switches that tell something ... */
    LOOK_NS = 64000000, /* ... and CPU time that does, however few they were */
    TICKS_A_LOOK = 16,
    PATIENCE_MOST = 64,
};

/* Of the calling thread since it began. */
static struct rt_switches switches_now(void)
{
    struct rusage usage;
    usage.ru_nvcsw = usage.ru_nivcsw = 0;
    sys_call3_as(SYS_getrusage, RUSAGE_THREAD, (long)&usage, 0);
    return (struct rt_switches){(uint64_t)usage.ru_nvcsw, (uint64_t)usage.ru_nivcsw};
}

static void look_begin(struct rt_thread *t, struct rt_switches now)
{
    t->switches = now;
    t->switches_cpu_ns = t->clock.base;
    t->looks = 0;
}

void ticks_arm_as(struct rt_thread *t)
{
    t->calm = t->patience = 0;
    if (t->fd >= 0 && t->clock.trigger == TRIGGER_CPU)
        look_begin(t, switches_now());
}

static void ticks_begin(struct rt_thread *t)
{
    if (t->vfork.is_child || !timer_open_as(t)) /* its descriptors are not the process's */
        return;
    perf_close_as(t);
    clock_turn_as(t);
    timer_set_period_as(t, t->clock.period);
    perf_discovery_close_as();
    if (!t->patience)
        __atomic_fetch_add(&guest.process->ticking, 1, __ATOMIC_RELAXED);
    t->calm = 0;
    t->patience = t->patience ? t->patience * 2 : 1;
    if (t->patience > PATIENCE_MOST)
        t->patience = PATIENCE_MOST;
}

static void ticks_end(struct rt_thread *t)
{
    if (!perf_open_as(t))
        return;
    timer_delete_as(t);
    clock_turn_as(t);
    trigger_resume_as(t);
    t->calm = 0;
}

void trigger_last_as(struct rt_thread *t)
{
    if (t->fd < 0 || t->clock.trigger != TRIGGER_CPU || rt_quiet_as())
        return;
    struct rt_switches now = switches_now();
    account_switches_as(t, now.waits - t->switches.waits + now.preempted - t->switches.preempted);
    t->switches = now;
}

/* CPU time from one switch to the next below which they come often. */
static uint64_t often_ns(void)
{
    uint64_t ns = (uint64_t)rt.config->switch_ns * OFTEN;
    return ns < OFTEN_LEAST_NS ? OFTEN_LEAST_NS : ns < OFTEN_MOST_NS ? ns : OFTEN_MOST_NS;
}

static bool is_due(struct rt_thread *t, uint64_t passed_ns)
{
    if (t->timer >= 0)
        return ++t->looks >= TICKS_A_LOOK;
    return passed_ns > t->clock.period + t->clock.period / 8;
}

void ticks_look_as(struct rt_thread *t, uint64_t passed_ns)
{
    if (t->clock.trigger != TRIGGER_CPU || guest.process->mechanism != MECHANISM_PERF || rt.carrier->translates ||
        !is_due(t, passed_ns))
        return;
    struct rt_switches now = switches_now();
    uint64_t waits = now.waits - t->switches.waits, preempted = now.preempted - t->switches.preempted;
    uint64_t seen = waits + preempted / PREEMPTED;
    uint64_t cpu_ns = t->clock.base > t->switches_cpu_ns ? t->clock.base - t->switches_cpu_ns : 0;
    if (seen < SEEN_LEAST && cpu_ns < LOOK_NS)
        return;
    look_begin(t, now);
    if (t->timer < 0) {
        account_switches_as(t, waits + preempted);
        if (seen * often_ns() > cpu_ns)
            ticks_begin(t);
        return;
    }
    t->calm = 4 * seen * often_ns() < cpu_ns ? t->calm + 1 : 0;
    if (t->calm >= t->patience)
        ticks_end(t);
}
