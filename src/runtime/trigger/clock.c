#include "runtime/carrier/carrier.h"
#include "runtime/phases.h"
#include "runtime/thread.h"
#include "runtime/trigger/internal.h"
#include "runtime/trigger/sync.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/sample_path.h"
#include "sigsafe/sys.h"

enum { MULTIPLE_MAX = 1 << 20, PREEMPTED_US = 20, SLOW_SAMPLES = 4, FIXED = 3 };

static bool counts_time(void)
{
    return rt.config->trigger == TRIGGER_CPU || rt.config->trigger == TRIGGER_WALL;
}

/* Elapsed time without the pauses that the program made. */
static uint64_t unpaused_ns(void)
{
    uint64_t now = thread_monotonic_ns_as();
    return now - phases_paused_ns_as(now);
}

SAMPLE_PATH
uint64_t clock_now_as(const struct rt_thread *t)
{
    switch (rt.config->trigger) {
    case TRIGGER_CPU:
        return thread_cpu_ns_as();
    case TRIGGER_WALL:
        return unpaused_ns();
    default:
        return perf_count_as(t);
    }
}

/* xorshift64 (Marsaglia, Xorshift RNGs, 2003): uniform enough to break lockstep with the program. */
uint64_t clock_random_as(struct rt_thread *t)
{
    uint64_t x = t->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return t->random = x;
}

/* Samples until the next draw. The first groups are short, doubling with each pair, so that the
 * samples of threads and processes that live shortly come from many draws: counts of two of them
 * compare like their times. Where the budget stretches the period, groups shrink, so that they (and
 * with them the budget) are looked at as often as otherwise. */
static uint32_t group_next(struct rt_thread *t, bool pair_ends)
{
    uint64_t samples = t->group / t->multiple;
    if (pair_ends && t->group < RT_RANDOM_GROUP)
        t->group *= 2;
    return samples ? (uint32_t)samples : 1;
}

/* Anywhere within a period. A period of time that is much shorter than what an expiration takes (some 30 us on virtual machines) would
 * expire again and again before its first signal has come, and nothing else would go on: it ends a little later then, which
 * what lives longer than that does not see. */
static uint64_t first_draw(struct rt_thread *t, uint64_t mean)
{
    enum { LEAST_NS = 100000 };
    bool timed = rt.config->trigger == TRIGGER_CPU || rt.config->trigger == TRIGGER_WALL;
    uint64_t drawn = 1 + clock_random_as(t) % mean, least = mean < LEAST_NS ? mean : LEAST_NS;
    return timed && drawn < least ? least : drawn;
}

/* Draws come in pairs that mirror each other around the mean (antithetic variates), so that the
 * randomness breaks lockstep with the program, but adds next to nothing to the error of a total.
 * The very first ends anywhere within a period, because a thread begins anywhere within one; the next few are of the
 * mean length: so a thread of up to FIXED periods gets as many samples as its time is worth on average, however short. */
uint64_t clock_draw_as(struct rt_thread *t)
{
    uint64_t mean = rt.config->period * t->multiple;
    uint64_t mirrored = 2 * mean - t->period;
    if (!t->group) {
        t->group = t->group_left = 1;
        t->age = RT_NEW;
        t->period = mean;
        if (rt.config->randomize && mean >= 8)
            t->period = first_draw(t, mean);
        return t->period;
    }
    bool second = t->age == RT_NEW;
    t->age = second ? RT_SAMPLED : RT_OLD;
    if (second && t->multiple == 1) {
        t->group_left = FIXED;
        return t->period = mean;
    }
    t->mirror = t->mirror && t->period <= 2 * mean && mirrored >= mean / 2;
    if (!rt.config->randomize || mean < 8)
        t->period = mean;
    else if (t->mirror)
        t->period = mirrored;
    else
        t->period = mean / 2 + clock_random_as(t) % (mean + 1);
    t->group_left = group_next(t, t->mirror);
    t->mirror = !t->mirror;
    return t->period;
}

static void window_begin(struct rt_thread *t, uint64_t cpu_ns)
{
    t->window_cpu_ns = cpu_ns;
    t->window_cost_ticks = t->record->cost_ticks;
    t->window_deliveries = t->record->deliveries;
    t->window_delivered_ns = t->record->delivered_ns;
    t->window_switched_ns = t->record->switched_ns;
}

void clock_start_as(struct rt_thread *t)
{
    /* Anywhere within a period: one that is not full at the end is not charged. */
    t->carry = t->timer >= 0 && rt.config->randomize ? clock_random_as(t) % rt.config->period : 0;
    t->owed = 0;
    t->last_ticks = sys_ticks_as();
    t->base = clock_now_as(t);
    account_begin_as(t);
    window_begin(t, thread_cpu_ns_as());
}

void clock_turn_as(struct rt_thread *t)
{
    uint64_t now = clock_now_as(t);
    t->owed += t->carry + (now > t->base ? now - t->base : 0);
    t->carry = 0;
    t->base = now;
    t->age = RT_OLD;
}

static void draws_begin(struct rt_thread *t)
{
    t->random = sys_ticks_as() * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)t->tid << 32;
    if (!t->random)
        t->random = 1;
    t->multiple = 1;
    t->group = 0;
    t->mirror = false;
}

void trigger_outside_as(struct rt_thread *t, uint64_t multiple)
{
    draws_begin(t);
    t->age = RT_OLD;
    t->multiple = multiple;
    t->period = rt.config->period * multiple;
    t->carry = t->owed = t->base = 0;
    t->last_ticks = sys_ticks_as();
    account_begin_as(t);
    window_begin(t, 0);
}

bool trigger_arm_as(struct rt_thread *t)
{
    if (rt_quiet_as())
        return false;
    draws_begin(t);
    if (trigger_is_synchronous(rt.config->trigger)) {
        sync_arm_as(t);
        return true;
    }
    if (rt.process->mechanism == MECHANISM_PERF && perf_arm_as(t)) {
        ticks_arm_as(t);
        return true;
    }
    if (rt.config->trigger != TRIGGER_CPU)
        return false;
    rt.process->mechanism = MECHANISM_TIMER;
    return timer_arm_as(t);
}

/* Whole periods of what is owed. */
static uint64_t owed_take(struct rt_thread *t)
{
    uint64_t periods = t->owed / rt.config->period;
    t->owed %= rt.config->period;
    return periods;
}

/* What has passed on the clock since the last sample belongs to this context, whole periods at once and the rest carried
 * over (csprof paper, figure 2). */
static uint64_t charge_passed(struct rt_thread *t, uint64_t now)
{
    if (now > t->base) {
        t->carry += now - t->base;
        t->base = now;
    }
    uint64_t weight = t->carry / rt.config->period;
    t->carry %= rt.config->period;
    return weight;
}

static struct trigger_charge charge_ticks(struct rt_thread *t)
{
    struct trigger_charge charge = {charge_passed(t, thread_cpu_ns_as()), owed_take(t)};
    t->account.entry_cpu_ns = t->base;
    return charge;
}

/* Time off the CPU counts. In a sandbox the time stamp counter says how much. */
static struct trigger_charge charge_wall(struct rt_thread *t, uint64_t passed_ticks)
{
    uint64_t now = rt_quiet_as() ? t->base + ticks_to_ns(passed_ticks) : unpaused_ns();
    return (struct trigger_charge){charge_passed(t, now), 0};
}

/* One signal is one period, unless expirations were merged: while the kernel works for the thread
 * (a long system call, a huge page to be cleared), one signal is pending and later ones are absorbed.
 * It is taken at the instruction that made the kernel work, so all of them belong there, and the
 * thread's clock tells how many. Where only user mode is seen, nothing expires in the kernel: that
 * time is found when the period is renewed, and charged to no context. */
static struct trigger_charge charge_cpu(struct rt_thread *t, uint64_t passed_ticks, uint64_t ticks_at_entry)
{
    struct trigger_charge charge = {t->multiple, owed_take(t)};
    t->base += t->period;
    account_enter_as(t);
    if (t->account.set_ticks)
        account_latency_as(t, t->base, ticks_at_entry);
    if (ticks_to_ns(passed_ticks) < t->period + t->period / 2 || rt.process->exclude_kernel)
        return charge;
    uint64_t now = clock_now_as(t);
    uint64_t mean = rt.config->period * t->multiple; /* not the period, which may be very short */
    uint64_t merged = now > t->base ? (now - t->base) / mean : 0;
    t->base += merged * mean;
    charge.weight += merged * t->multiple;
    return charge;
}

/* When the period of a software event is set, the kernel forgets what is left of the current one, and
 * the event's next occurrence is an overflow: premature, no sample. */
static struct trigger_charge charge_events(struct rt_thread *t)
{
    uint64_t now = clock_now_as(t);
    if (now > t->base && 2 * (now - t->base) <= t->period) {
        t->premature = true;
        return (struct trigger_charge){0, 0};
    }
    uint64_t periods = now > t->base ? (now - t->base) / t->period : 1;
    if (periods == 0)
        periods = 1;
    t->base += periods * t->period;
    if (t->base > now)
        t->base = now;
    return (struct trigger_charge){periods * t->multiple, owed_take(t)};
}

/* Where only user mode is seen, nothing has expired in the kernel since the period was renewed last. */
static uint64_t rest_at(struct rt_thread *t, uint64_t now)
{
    bool unseen = rt.process->exclude_kernel;
    if (t->timer >= 0) {
        t->owed += charge_passed(t, now) * rt.config->period;
        return owed_take(t);
    }
    uint64_t last = unseen ? rt.config->period * t->multiple : 0;
    if ((t->multiple > 1 || unseen) && now > t->base + last) {
        t->owed += now - t->base - last;
        t->base = now;
    }
    return owed_take(t);
}

uint64_t trigger_rest_as(struct rt_thread *t)
{
    if (!trigger_is_armed_as(t) || rt.config->trigger == TRIGGER_WALL || rt_quiet_as())
        return 0;
    return rest_at(t, clock_now_as(t));
}

uint64_t trigger_rest_of_as(struct rt_thread *t, uint64_t cpu_ns)
{
    if (rt.config->trigger != TRIGGER_CPU || (t->timer < 0 && (t->fd < 0 || !rt.process->exclude_kernel)))
        return 0;
    return rest_at(t, cpu_ns);
}

bool trigger_was_just_now_as(const struct rt_thread *t, uint64_t ticks)
{
    return ticks_to_ns(ticks - t->last_ticks - t->account.last_cost) < 1000 * PREEMPTED_US;
}

bool trigger_is_again_as(struct rt_thread *t, uint64_t ticks)
{
    t->premature = t->age == RT_SAMPLED;
    if (t->premature) {
        t->age = RT_OLD;
        t->last_ticks = ticks;
    }
    return t->premature;
}

bool trigger_was_short_as(const struct rt_thread *t, uint64_t ticks)
{
    return rt.config->trigger == TRIGGER_CPU && ticks_to_ns(ticks - t->last_ticks) < t->period / 2;
}

SAMPLE_PATH
struct trigger_charge trigger_charge_as(struct rt_thread *t, uint64_t ticks, uint64_t overrun)
{
    uint64_t passed = ticks - t->last_ticks;
    t->passed_ns = ticks_to_ns(passed);
    struct trigger_charge charge = {t->multiple, 0};
    t->last_ticks = ticks;
    if (t->age == RT_SAMPLED)
        t->age = RT_OLD;
    if (rt.config->trigger == TRIGGER_WALL)
        return charge_wall(t, passed);
    if (rt_quiet_as()) /* only a timer's expirations are merged */
        charge.weight *= 1 + overrun;
    else if (t->timer >= 0)
        charge = charge_ticks(t);
    else if (rt.config->trigger == TRIGGER_CPU)
        charge = charge_cpu(t, passed, ticks);
    else
        charge = charge_events(t);
    return charge;
}

/* The share that triggers may cost, in parts per million. There is always one: a handler that takes longer than the
 * period must not stop the program altogether. */
static uint64_t limit_ppm(void)
{
    uint64_t ppm = rt.config->bound_ppm;
    return rt.config->budget_ppm && rt.carrier->trigger_ppm ? rt.carrier->trigger_ppm(ppm) : ppm;
}

/* Doubles or halves the mean period so that what the window cost stays inside the budget. Switches of threads are in it, too,
 * but fewer samples make none of them cheaper (ticks.c does): half of the budget is for samples in any case. A window
 * is as long as the period drawn for it; its cost is set against the mean period, or a short draw
 * would halve the rate of a program that is inside its budget on average. */
static void budget_look(struct rt_thread *t)
{
    const struct spool_thread *r = t->record;
    uint64_t cpu = thread_cpu_note_as(t);
    uint64_t cpu_spent = cpu - t->window_cpu_ns;
    uint64_t deliveries = r->deliveries - t->window_deliveries;
    uint64_t ours = ticks_to_ns(r->cost_ticks - t->window_cost_ticks) + r->delivered_ns - t->window_delivered_ns;
    uint64_t switched = r->switched_ns - t->window_switched_ns;
    if (rt.carrier->trigger_ns)
        ours += deliveries * rt.carrier->trigger_ns();
    uint64_t mean = deliveries * rt.config->period * t->multiple;
    if (rt.config->trigger == TRIGGER_CPU && cpu_spent < mean)
        cpu_spent = mean;
    window_begin(t, cpu);
    uint64_t allowed = cpu_spent / 1000u * limit_ppm() / 1000u;
    allowed = switched < allowed / 2 ? allowed - switched : allowed / 2;
    if (ours > allowed && t->multiple < MULTIPLE_MAX)
        t->multiple *= 2;
    else if (ours < allowed / 20 * 9 && t->multiple > 1) /* twice that still fits, with a margin */
        t->multiple /= 2;
    if (t->multiple > 1 && t->multiple > t->record->stretched)
        t->record->stretched = t->multiple;
}

static void period_set_as(struct rt_thread *t, uint64_t period)
{
    if (t->timer >= 0)
        timer_set_period_as(t, period);
    else
        perf_set_period_as(t, period);
}

/* Of the one that was `old`. */
static void period_draw(struct rt_thread *t, uint64_t old)
{
    uint64_t period = clock_draw_as(t);
    if (period == old)
        return;
    period_set_as(t, period);
    if (rt.config->trigger == TRIGGER_WALL || t->timer >= 0)
        return;
    uint64_t now = clock_now_as(t);
    if (!counts_time() && now > t->base)
        t->owed += now - t->base; /* of the period that the kernel has just forgotten */
    t->base = now;
    account_set_as(t);
}

static void period_renew(struct rt_thread *t)
{
    uint64_t old = t->period;
    if (rt.config->trigger == TRIGGER_CPU && t->timer < 0) {
        uint64_t now = clock_now_as(t);
        uint64_t missed = now > t->base ? (now - t->base) / old * old : 0;
        uint64_t ours = account_so_far_as(t, t->last_ticks);
        t->owed += missed > ours ? missed - ours : 0;
        t->base += missed;
    }
    thread_name_as(t);
    budget_look(t);
    period_draw(t, old);
}

void trigger_hurry_as(struct rt_thread *t, uint32_t times)
{
    if (!trigger_is_armed_as(t) || t->multiple == 1)
        return;
    t->multiple = t->multiple > times ? t->multiple / times : 1;
    window_begin(t, thread_cpu_note_as(t));
    period_draw(t, t->period);
}

void trigger_fix_as(struct rt_thread *t)
{
    uint64_t mean = rt.config->period * t->multiple;
    if (!trigger_is_armed_as(t) || t->period == mean)
        return;
    t->age = RT_OLD;
    t->period = mean;
    period_set_as(t, mean);
}

SAMPLE_PATH
void trigger_finish_as(struct rt_thread *t, uint64_t ticks_at_entry)
{
    bool quiet = rt_quiet_as();
    if (!quiet && !t->premature) {
        ticks_look_as(t, t->passed_ns);
        if (--t->group_left == 0)
            period_renew(t);
        scan_look_as(ticks_at_entry);
    }
    uint64_t cost = account_finish_as(t, ticks_at_entry);
    t->premature = false;
    if (quiet || !counts_time() || ticks_to_ns(cost) <= rt.config->period * t->multiple / 2) {
        t->slow = 0;
        return;
    }
    /* Samples that take longer than half of a period: give the program room at once. One alone
     * proves nothing: the cost of a preempted sample is an upper bound, and on a busy core many
     * are preempted. */
    if (++t->slow < SLOW_SAMPLES)
        return;
    while (ticks_to_ns(cost) * 4 > rt.config->period * t->multiple && t->multiple < MULTIPLE_MAX)
        t->multiple *= 2;
    period_renew(t);
}
