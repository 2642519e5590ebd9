#include "runtime/thread.h"
#include "runtime/trigger/internal.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/sys.h"

/* Without --budget: the share of its CPU time that a program pays at most, in parts per million.
 * It keeps a handler that takes longer than the period from stopping the program altogether. */
enum { SAFETY_PPM = 250000, MULTIPLE_MAX = 1 << 20 };

static bool counts_time(void)
{
    return rt.config->trigger == TRIGGER_CPU || rt.config->trigger == TRIGGER_WALL;
}

static uint64_t ticks_to_ns(uint64_t ticks)
{
    uint64_t per_us = rt.config->tsc_hz / 1000000u;
    return per_us ? ticks * 1000u / per_us : 0;
}

uint64_t clock_now_as(const struct rt_thread *t)
{
    switch (rt.config->trigger) {
    case TRIGGER_CPU:
        return thread_cpu_ns_as();
    case TRIGGER_WALL:
        return thread_monotonic_ns_as();
    default:
        return perf_count_as(t);
    }
}

/* xorshift64 (Marsaglia, Xorshift RNGs, 2003): uniform enough to break lockstep with the program. */
static uint64_t random_next(struct rt_thread *t)
{
    uint64_t x = t->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return t->random = x;
}

uint64_t clock_draw_as(struct rt_thread *t)
{
    if (!t->multiple)
        t->multiple = 1;
    uint64_t mean = rt.config->period * t->multiple;
    t->period = mean;
    if (rt.config->randomize && mean >= 8)
        t->period = mean / 2 + random_next(t) % (mean + 1);
    t->group_left = RT_RANDOM_GROUP;
    return t->period;
}

void clock_start_as(struct rt_thread *t)
{
    t->carry = 0;
    t->last_ticks = sys_ticks_as();
    t->base = clock_now_as(t);
    t->window_cpu_ns = thread_cpu_ns_as();
    t->window_cost_ticks = t->record->cost_ticks;
    t->window_deliveries = t->record->deliveries;
}

bool trigger_arm_as(struct rt_thread *t)
{
    if (__atomic_load_n(&rt.quiet, __ATOMIC_RELAXED))
        return false;
    t->random = sys_ticks_as() * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)t->tid << 32;
    if (!t->random)
        t->random = 1;
    t->multiple = 1;
    if (rt.process->mechanism == MECHANISM_PERF && perf_arm_as(t))
        return true;
    if (rt.config->trigger != TRIGGER_CPU)
        return false;
    rt.process->mechanism = MECHANISM_TIMER;
    return timer_arm_as(t);
}

/* Time off the CPU counts: what has passed since the last sample belongs to this context, whole
 * periods now and the rest carried over (csprof paper, figure 2). */
static struct trigger_charge charge_wall(struct rt_thread *t)
{
    uint64_t now = thread_monotonic_ns_as();
    t->carry += now - t->base;
    t->base = now;
    uint64_t weight = t->carry / rt.config->period;
    t->carry %= rt.config->period;
    return (struct trigger_charge){weight, 0};
}

/* One signal is one period, unless expirations were merged: while a long system call runs, one
 * signal is pending and later ones are absorbed. The time stamp counter tells cheaply when that
 * cannot have happened; otherwise the trigger's own clock tells how many. */
struct trigger_charge trigger_charge_as(struct rt_thread *t, uint64_t ticks, uint64_t overrun)
{
    uint64_t passed = ticks - t->last_ticks;
    t->last_ticks = ticks;
    uint64_t multiple = t->multiple;
    if (rt.process->mechanism == MECHANISM_TIMER)
        return (struct trigger_charge){(1 + overrun) * multiple, 0};
    if (__atomic_load_n(&rt.quiet, __ATOMIC_RELAXED))
        return (struct trigger_charge){multiple, 0};
    if (rt.config->trigger == TRIGGER_WALL)
        return charge_wall(t);
    if (counts_time() && ticks_to_ns(passed) < t->period + t->period / 2) {
        t->base += t->period;
        return (struct trigger_charge){multiple, 0};
    }
    uint64_t now = clock_now_as(t);
    uint64_t merged = now > t->base ? (now - t->base) / t->period : 1;
    if (merged == 0)
        merged = 1;
    t->base += merged * t->period;
    if (t->base > now)
        t->base = now;
    if (rt.process->exclude_kernel && counts_time())
        return (struct trigger_charge){multiple, (merged - 1) * multiple};
    return (struct trigger_charge){merged * multiple, 0};
}

/* Doubles or halves the mean period so that what the window cost stays inside the budget. */
static void budget_look(struct rt_thread *t)
{
    const struct spool_thread *r = t->record;
    uint64_t cpu = thread_cpu_ns_as();
    uint64_t cpu_spent = cpu - t->window_cpu_ns;
    uint64_t ours = ticks_to_ns(r->cost_ticks - t->window_cost_ticks) +
                    (r->deliveries - t->window_deliveries) * rt.config->delivery_ns;
    t->window_cpu_ns = cpu;
    t->window_cost_ticks = r->cost_ticks;
    t->window_deliveries = r->deliveries;
    t->record->cpu_ns = cpu;
    uint64_t limit = rt.config->budget_ppm ? rt.config->budget_ppm : SAFETY_PPM;
    uint64_t allowed = cpu_spent / 1000u * limit / 1000u;
    if (ours > allowed && t->multiple < MULTIPLE_MAX)
        t->multiple *= 2;
    else if (ours < allowed / 4 && t->multiple > 1)
        t->multiple /= 2;
}

static void period_renew(struct rt_thread *t)
{
    budget_look(t);
    uint64_t old = t->period;
    uint64_t period = clock_draw_as(t);
    if (period == old)
        return;
    if (rt.process->mechanism == MECHANISM_TIMER)
        timer_set_period_as(t, period);
    else
        perf_set_period_as(t, period);
    if (rt.config->trigger != TRIGGER_WALL)
        t->base = clock_now_as(t);
}

void trigger_finish_as(struct rt_thread *t, uint64_t ticks_at_entry)
{
    bool quiet = __atomic_load_n(&rt.quiet, __ATOMIC_RELAXED);
    if (!quiet && t->group_left-- == 0)
        period_renew(t);
    uint64_t cost = sys_ticks_as() - ticks_at_entry;
    t->record->cost_ticks += cost;
    if (!quiet && counts_time() && ticks_to_ns(cost) > t->period / 2 &&
        t->multiple < MULTIPLE_MAX) {
        /* One sample took longer than half of a period: give the program room at once. */
        while (ticks_to_ns(cost) * 4 > rt.config->period * t->multiple &&
               t->multiple < MULTIPLE_MAX)
            t->multiple *= 2;
        period_renew(t);
    }
}
