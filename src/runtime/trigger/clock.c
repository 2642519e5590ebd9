#include "runtime/carrier/carrier.h"
#include "guest/phases.h"
#include "runtime/thread.h"
#include "runtime/trigger/internal.h"
#include "runtime/trigger/sync.h"
#include "runtime/trigger/trigger.h"
#include "runtime/trigger/turn.h"
#include "sigsafe/hash.h"
#include "sigsafe/random.h"
#include "sigsafe/sample_path.h"
#include "sigsafe/sys.h"

enum { MULTIPLE_MAX = 1 << 20, PREEMPTED_US = 20, SLOW_SAMPLES = 4, FIXED = 3, LEAST_NS = 100000 };

static bool counts_time(const struct rt_thread *t)
{
    return trigger_is_time(t->clock.trigger);
}

/* By a timer: then no event of the thread counts its time. */
static bool at_ticks(const struct rt_thread *t)
{
    return t->clock.trigger == TRIGGER_CPU && t->timer >= 0;
}

/* Elapsed time without the pauses that the program made. */
static uint64_t unpaused_ns(void)
{
    uint64_t now = thread_monotonic_ns_as();
    return now - phases_paused_ns_as(now);
}

SAMPLE_PATH
uint64_t clock_now_as(struct rt_thread *t)
{
    switch (t->clock.trigger) {
    case TRIGGER_CPU:
        return cpu_clock_as(t);
    case TRIGGER_WALL:
        return unpaused_ns();
    default:
        return perf_count_as(t);
    }
}

uint64_t clock_random_as(struct rt_thread *t)
{
    return random_next(&t->random);
}

/* Samples until the budget is looked at next. The first groups are of one draw and short, doubling
 * with each pair, so that the samples of threads and processes that live shortly come from many
 * draws: counts of two of them compare like their times. Longer ones are of several pairs. Where
 * the budget stretches the period, groups shrink, so that the budget is looked at as often as
 * otherwise. */
static uint32_t group_next(struct rt_thread *t, bool pair_ends)
{
    uint64_t samples = t->clock.multiple > 1 ? t->clock.group / t->clock.multiple : t->clock.group;
    if ((pair_ends || t->clock.group > RT_RANDOM_GROUP) && t->clock.group < RT_BUDGET_GROUP)
        t->clock.group *= 2;
    return samples ? (uint32_t)samples : 1;
}

/* Anywhere within a period. A period of time that is much shorter than what an expiration takes
 * (some 30 us on virtual machines) would expire again and again before its first signal has come,
 * and nothing else would go on: an event of CPU time expires once then. Elapsed time ends a little
 * later, which what lives longer than that does not see. So does CPU time beside other triggers:
 * two signals that are raised at once are one, and an event whose only one that was would stand
 * still. */
static uint64_t first_draw(struct rt_thread *t, uint64_t mean)
{
    enum { EVENT_LEAST_NS = 10000 /* the kernel's */ };
    uint64_t drawn = 1 + clock_random_as(t) % mean, least = mean < LEAST_NS ? mean : LEAST_NS;
    t->clock.drawn = drawn;
    t->clock.once = !t->other_count && t->clock.trigger == TRIGGER_CPU &&
                    guest.process->mechanism == MECHANISM_PERF && drawn < LEAST_NS;
    if (t->clock.once)
        return drawn < EVENT_LEAST_NS ? EVENT_LEAST_NS : drawn;
    return counts_time(t) && drawn < least ? least : drawn;
}

/* Draws come in pairs that mirror each other around the mean (antithetic variates), so that the
 * randomness breaks lockstep with the program, but adds next to nothing to the error of a total,
 * nor of what runs for longer than a pair: 16 periods.
 * The very first ends anywhere within a period, because a thread begins anywhere within one; the
 * next few are of the mean length: so a thread of up to FIXED periods gets as many samples as its
 * time is worth on average, however short. */
uint64_t clock_draw_as(struct rt_thread *t)
{
    uint64_t mean = t->clock.mean * t->clock.multiple;
    uint64_t mirrored = 2 * mean - t->clock.period;
    if (!t->clock.group) {
        t->clock.group = t->clock.group_left = t->clock.draw_left = 1;
        t->clock.age = RT_NEW;
        t->clock.period = t->clock.drawn = mean;
        t->clock.once = false;
        if (rt.config->randomize && mean >= 8)
            t->clock.period = first_draw(t, mean);
        return t->clock.period;
    }
    bool second = t->clock.age == RT_NEW;
    t->clock.age = second ? RT_SAMPLED : RT_OLD;
    if (second && t->clock.multiple == t->clock.begun) {
        t->clock.group_left = t->clock.draw_left = FIXED;
        return t->clock.period = mean;
    }
    t->clock.mirror = t->clock.mirror && t->clock.period <= 2 * mean && mirrored >= mean / 2;
    if (!rt.config->randomize || mean < 8)
        t->clock.period = mean;
    else if (t->clock.mirror)
        t->clock.period = mirrored;
    else
        t->clock.period = mean / 2 + clock_random_as(t) % (mean + 1);
    if (!t->clock.group_left)
        t->clock.group_left = group_next(t, t->clock.mirror);
    bool several = rt.config->randomize && t->clock.group_left > RT_RANDOM_GROUP;
    t->clock.draw_left = several ? RT_RANDOM_GROUP : t->clock.group_left;
    t->clock.mirror = !t->clock.mirror;
    return t->clock.period;
}

static void window_begin(struct rt_thread *t, uint64_t cpu_ns)
{
    t->clock.window_cpu_ns = cpu_ns;
    t->clock.window_cost_ticks = t->record->cost_ticks;
    t->clock.window_deliveries = t->record->deliveries;
    t->clock.window_delivered_ns = t->record->delivered_ns;
    t->clock.window_switched_ns = t->record->switched_ns;
}

/* What the first sample stands for, which comes anywhere within it. */
static uint64_t first_period(const struct rt_thread *t)
{
    return t->clock.mean * t->clock.begun;
}

static void stretched_note(struct rt_thread *t)
{
    if (t->clock.multiple > 1 && t->clock.multiple > t->record->stretched)
        t->record->stretched = t->clock.multiple;
}

void clock_start_as(struct rt_thread *t)
{
    stretched_note(t);
    bool drawn = at_ticks(t) && rt.config->randomize;
    t->clock.least = drawn ? first_period(t) : t->clock.mean;
    /* the first one is full when the moment drawn has passed */
    t->clock.carry = drawn ? t->clock.least - t->clock.drawn : 0;
    t->clock.owed = 0;
    t->clock.last_ticks = sys_ticks_as();
    t->clock.base = clock_now_as(t);
    account_begin_as(t);
    window_begin(t, thread_cpu_ns_as());
}

void clock_turn_as(struct rt_thread *t)
{
    uint64_t now = clock_now_as(t);
    t->clock.owed += t->clock.carry + (now > t->clock.base ? now - t->clock.base : 0);
    t->clock.carry = 0;
    t->clock.least = t->clock.mean;
    t->clock.base = now;
    t->clock.age = RT_OLD;
}

uint64_t clock_leave_wall_as(struct rt_thread *t)
{
    uint64_t elapsed = t->clock.base;
    t->clock.trigger = TRIGGER_CPU;
    t->clock.base = thread_cpu_ns_as();
    clock_turn_as(t);
    window_begin(t, t->clock.base);
    t->clock.multiple = t->clock.begun; /* ends of waits had made samples rare */
    t->clock.mirror = false;
    perf_set_period_as(t, clock_draw_as(t));
    return elapsed;
}

/* In the first period: `base` is where it began, and stays. */
void clock_turn_first_as(struct rt_thread *t)
{
    t->clock.least = first_period(t);
    t->clock.carry = t->clock.least - t->clock.drawn;
    t->clock.age = RT_OLD;
}

static void clock_begin(struct rt_thread *t)
{
    struct spool_trigger trigger = spool_trigger_at(rt.config, t->which);
    t->clock.trigger = trigger.trigger;
    t->clock.mean = trigger.period;
    t->clock.bound_ppm = trigger.bound_ppm;
    t->clock.multiple = t->clock.begun = pace_begin_as(t);
    t->clock.group = 0;
    t->clock.mirror = t->clock.once = t->clock.limited = t->clock.spent = false;
}

static bool first_arm(struct rt_thread *t)
{
    clock_begin(t);
    if (trigger_is_synchronous(t->clock.trigger)) {
        sync_arm_as(t);
        return true;
    }
    if (guest.process->mechanism == MECHANISM_PERF && perf_arm_as(t))
        return true;
    if (t->clock.trigger != TRIGGER_CPU)
        return false;
    guest.process->mechanism = MECHANISM_TIMER;
    return timer_arm_as(t);
}

/* Its event is there then, but does not run. The child of a vfork has its parent's thresholds. */
static bool other_arm(struct rt_thread *t, uint32_t which)
{
    bool armed = turn_to_as(t, which);
    if (!armed)
        return false;
    clock_begin(t);
    if (!trigger_is_synchronous(t->clock.trigger))
        armed = perf_arm_other_as(t);
    else if (!t->vfork.is_child)
        sync_arm_as(t);
    turn_to_as(t, 0);
    return armed;
}

/* Before the first one, whose samples may come at once: nobody turns to another one meanwhile. */
static void others_arm(struct rt_thread *t)
{
    if (!t->other_count)
        return;
    t->busy = 1;
    for (uint32_t which = 1; which <= t->other_count; which++)
        if (!other_arm(t, which))
            __atomic_fetch_add(&guest.process->unarmed_others, 1, __ATOMIC_RELAXED);
    t->busy = 0;
}

static void draws_begin(struct rt_thread *t)
{
    t->random = hash_word(sys_ticks_as()) ^ (uint64_t)t->tid << 32;
    if (!t->random)
        t->random = 1;
}

/* The collector has set the first trigger's event. The others have none there. */
void trigger_outside_as(struct rt_thread *t, uint64_t multiple)
{
    draws_begin(t);
    clock_begin(t);
    t->clock.age = RT_OLD;
    t->clock.multiple = multiple;
    t->clock.begun = 1;
    t->clock.period = t->clock.mean * multiple;
    t->clock.least = t->clock.mean;
    t->clock.carry = t->clock.owed = t->clock.base = 0;
    t->clock.last_ticks = sys_ticks_as();
    account_begin_as(t);
    window_begin(t, 0);
}

bool trigger_arm_as(struct rt_thread *t)
{
    if (rt_quiet_as())
        return false;
    draws_begin(t);
    others_arm(t);
    bool armed = first_arm(t);
    if (armed && t->other_count)
        trigger_resume_as(t);
    return armed;
}

/* Whole periods of what is owed. */
static uint64_t owed_take(struct rt_thread *t)
{
    uint64_t periods = t->clock.owed / t->clock.mean;
    t->clock.owed %= t->clock.mean;
    return periods;
}

/* Elapsed time is looked at after each wait, too, however short: it is charged when half of a
 * period has passed, so that waits do not make samples dearer than the period, stretched to the
 * budget. */
static uint64_t least_next(const struct rt_thread *t)
{
    uint64_t half = t->clock.mean * t->clock.multiple / 2;
    return t->clock.trigger == TRIGGER_WALL && half > t->clock.mean ? half : t->clock.mean;
}

/* What has passed on the clock since the last sample belongs to this context, whole periods at once
 * and the rest carried over (csprof paper, figure 2). */
static uint64_t charge_passed(struct rt_thread *t, uint64_t now)
{
    if (now > t->clock.base) {
        t->clock.carry += now - t->clock.base;
        t->clock.base = now;
    }
    if (t->clock.carry < t->clock.least)
        return 0;
    uint64_t weight = t->clock.carry / t->clock.mean;
    t->clock.carry %= t->clock.mean;
    t->clock.least = least_next(t);
    return weight;
}

/* What a thread's first sample and those after it stand for, if it has used so much time since it
 * began, which is more than the moment that was drawn for the first. */
static uint64_t first_and_more(const struct rt_thread *t, uint64_t passed)
{
    uint64_t more = passed > t->clock.drawn ? passed - t->clock.drawn : 0, first = first_period(t);
    return first + more / first * first;
}

/* Where only user mode is seen, the first period may have expired in the kernel, again and again:
 * this signal is of a later time than the one that was drawn. Then what was drawn belongs to no
 * context, and the next sample comes a period after it. */
static bool first_unseen(struct rt_thread *t)
{
    if (t->clock.age != RT_NEW || !guest.process->exclude_kernel)
        return false;
    uint64_t now = clock_now_as(t), passed = now > t->clock.base ? now - t->clock.base : 0;
    if (passed < 2 * t->clock.period + t->account.latency_ns)
        return false;
    uint64_t taken = first_and_more(t, passed), next = taken + t->clock.drawn - passed;
    if (next < LEAST_NS) {
        taken += first_period(t);
        next += first_period(t);
    }
    t->clock.owed += taken;
    t->clock.age = RT_OLD;
    t->clock.once = t->clock.limited = false;
    t->clock.period = next;
    t->clock.base = now;
    perf_set_period_as(t, next);
    trigger_go_on_as(t);
    return true;
}

static struct trigger_charge charge_ticks(struct rt_thread *t)
{
    struct trigger_charge charge = {charge_passed(t, thread_cpu_ns_as()), owed_take(t)};
    t->account.entry_cpu_ns = t->clock.base;
    return charge;
}

/* Time off the CPU counts. In a sandbox the time stamp counter says how much. */
static struct trigger_charge charge_wall(struct rt_thread *t, uint64_t passed_ticks)
{
    uint64_t now = rt_quiet_as() ? t->clock.base + ticks_to_ns(passed_ticks) : unpaused_ns();
    struct trigger_charge charge = {charge_passed(t, now), 0};
    t->clock.weightless = !charge.weight;
    return charge;
}

/* One signal is one period, unless expirations were merged: while the kernel works for the thread
 * (a long system call, a huge page to be cleared), one signal is pending and later ones are
 * absorbed. It is taken at the instruction that made the kernel work, so all of them belong there,
 * and the thread's clock tells how many. Where only user mode is seen, nothing expires in the
 * kernel: that time is found when the period is renewed, and charged to no context. */
static struct trigger_charge charge_cpu(struct rt_thread *t, uint64_t passed_ticks,
                                        uint64_t ticks_at_entry)
{
    bool unseen_first = first_unseen(t);
    struct trigger_charge charge = {t->clock.multiple, owed_take(t)};
    if (t->clock.spent || unseen_first) {
        t->clock.spent = false;
        t->clock.premature = true;
        return (struct trigger_charge){0, charge.unattributed};
    }
    t->clock.base += t->clock.period;
    account_enter_as(t);
    if (t->account.set)
        account_latency_as(t, t->clock.base, ticks_at_entry);
    if (ticks_to_ns(passed_ticks) < t->clock.period + t->clock.period / 2 ||
        guest.process->exclude_kernel)
        return charge;
    uint64_t now = clock_now_as(t);
    uint64_t mean = t->clock.mean * t->clock.multiple; /* not the period, which may be very short */
    uint64_t merged = now > t->clock.base ? (now - t->clock.base) / mean : 0;
    t->clock.base += merged * mean;
    account_unseen_as(t, merged);
    charge.weight += merged * t->clock.multiple;
    return charge;
}

/* When the period of a software event is set, the kernel forgets what is left of the current one,
 * and the event's next occurrence is an overflow: premature, no sample. */
static struct trigger_charge charge_events(struct rt_thread *t)
{
    uint64_t now = clock_now_as(t);
    if (now > t->clock.base && 2 * (now - t->clock.base) <= t->clock.period) {
        t->clock.premature = true;
        return (struct trigger_charge){0, 0};
    }
    uint64_t periods = now > t->clock.base ? (now - t->clock.base) / t->clock.period : 1;
    if (periods == 0)
        periods = 1;
    t->clock.base += periods * t->clock.period;
    if (t->clock.base > now)
        t->clock.base = now;
    return (struct trigger_charge){periods * t->clock.multiple, owed_take(t)};
}

/* The share that triggers may cost, in parts per million. There is always one: a handler that takes
 * longer than the period must not stop the program altogether. */
static uint64_t limit_ppm(const struct rt_thread *t)
{
    uint64_t ppm = t->clock.bound_ppm;
    return rt.config->budget_ppm && rt.carrier->trigger_ppm ? rt.carrier->trigger_ppm(ppm) : ppm;
}

/* What the thread has used since its window began, and what that cost. */
struct window {
    uint64_t cpu_ns, cost_ns, switched_ns, deliveries;
};

static struct window window_of(const struct rt_thread *t, uint64_t cpu_ns)
{
    const struct spool_thread *r = t->record;
    struct window w = {
        .cpu_ns = cpu_ns > t->clock.window_cpu_ns ? cpu_ns - t->clock.window_cpu_ns : 0,
        .cost_ns = ticks_to_ns(r->cost_ticks - t->clock.window_cost_ticks) + r->delivered_ns -
                   t->clock.window_delivered_ns,
        .switched_ns = r->switched_ns - t->clock.window_switched_ns,
        .deliveries = r->deliveries - t->clock.window_deliveries,
    };
    if (rt.carrier->trigger_ns)
        w.cost_ns += w.deliveries * rt.carrier->trigger_ns();
    return w;
}

/* What samples may cost in so much CPU time. Switches of threads are in it, too, but fewer samples
 * make none of them cheaper (ticks.c does): half of the budget is for samples in any case. */
static uint64_t allowed_ns(const struct rt_thread *t, uint64_t cpu_ns, uint64_t switched_ns)
{
    uint64_t all = cpu_ns / 1000u * limit_ppm(t) / 1000u;
    return switched_ns < all / 2 ? all - switched_ns : all / 2;
}

static void window_pace(const struct rt_thread *t, const struct window *w)
{
    if (t->clock.trigger == TRIGGER_CPU)
        pace_note_as(t, w->cpu_ns, allowed_ns(t, w->cpu_ns, w->switched_ns), w->cost_ns);
}

/* Doubles or halves the mean period so that what the window cost stays inside the budget. A window
 * is as long as the period drawn for it; its cost is set against the mean period, or a short draw
 * would halve the rate of a program that is inside its budget on average. */
static void budget_look(struct rt_thread *t)
{
    uint64_t cpu = thread_cpu_seen_as(t, cpu_clock_as(t));
    struct window w = window_of(t, cpu);
    window_pace(t, &w);
    window_begin(t, cpu);
    uint64_t mean = w.deliveries * t->clock.mean * t->clock.multiple;
    bool longer = t->clock.trigger == TRIGGER_CPU && w.cpu_ns < mean;
    uint64_t allowed = allowed_ns(t, longer ? mean : w.cpu_ns, w.switched_ns);
    if (w.cost_ns > allowed && t->clock.multiple < MULTIPLE_MAX)
        t->clock.multiple *= 2;
    else if (w.cost_ns < allowed / 20 * 9 &&
             t->clock.multiple > 1) /* twice that still fits, with a margin */
        t->clock.multiple /= 2;
    stretched_note(t);
}

/* At the end of a thread. As many samples as there would have been at the period with which it
 * began, had that stayed: the first one came anywhere within it, so what is less than a whole one
 * is in what that one stood for. Where only user mode is seen, those that have expired in the
 * kernel since the last sample. */
static uint64_t rest_at(struct rt_thread *t, uint64_t now)
{
    uint64_t passed = now > t->clock.base ? now - t->clock.base : 0;
    if (at_ticks(t)) {
        t->clock.owed += charge_passed(t, now) * t->clock.mean;
    } else if (t->clock.trigger == TRIGGER_CPU && t->clock.age == RT_NEW) {
        if (passed < t->clock.drawn)
            return owed_take(t);
        t->clock.owed += first_and_more(t, passed); /* it ended before its signal came */
        t->clock.base = now;
        t->clock.age = RT_OLD;
        t->clock.spent = true;
    } else {
        uint64_t step = t->clock.multiple > t->clock.begun ? first_period(t)
                        : guest.process->exclude_kernel    ? t->clock.period
                                                           : 0;
        uint64_t whole = step ? passed / step * step : 0;
        t->clock.owed += whole;
        t->clock.base += whole;
    }
    return owed_take(t);
}

uint64_t trigger_rest_as(struct rt_thread *t)
{
    if (!trigger_is_armed_as(t) || rt_quiet_as())
        return 0;
    cpu_clock_forget_as(t);
    uint64_t now = clock_now_as(t);
    if (t->clock.trigger == TRIGGER_WALL) {
        t->clock.least = t->clock.mean;
        return charge_passed(t, now);
    }
    if (t->clock.trigger == TRIGGER_CPU) {
        struct window w = window_of(t, now);
        window_pace(t, &w);
        window_begin(t, now);
        ticks_lived_as(t, now);
    }
    return rest_at(t, now);
}

uint64_t trigger_rest_of_as(struct rt_thread *t, uint64_t cpu_ns)
{
    if (t->clock.trigger != TRIGGER_CPU || (t->timer < 0 && t->fd < 0))
        return 0;
    return rest_at(t, cpu_ns);
}

/* Of the thread's CPU time since the last sample's period expired. Of other triggers, and in a
 * sandbox, it is not known. */
static uint64_t cpu_since(const struct rt_thread *t)
{
    if (t->clock.trigger != TRIGGER_CPU || rt_quiet_as())
        return UINT64_MAX;
    uint64_t now = thread_cpu_ns_as();
    return now > t->clock.base ? now - t->clock.base : 0;
}

/* Where much time has passed the thread may have been preempted: then its CPU clock tells. A period
 * that the program has blocked has passed on it. */
bool trigger_was_just_now_as(const struct rt_thread *t, uint64_t ticks)
{
    return ticks_to_ns(ticks - t->clock.last_ticks - t->account.last_cost) < 1000 * PREEMPTED_US ||
           cpu_since(t) < t->clock.period + ticks_to_ns(t->account.last_cost);
}

bool trigger_was_short_as(const struct rt_thread *t, uint64_t ticks)
{
    return t->clock.trigger == TRIGGER_CPU &&
           (ticks_to_ns(ticks - t->clock.last_ticks) < t->clock.period / 2 ||
            cpu_since(t) < t->clock.period / 2);
}

bool trigger_is_again_as(struct rt_thread *t, uint64_t ticks)
{
    t->clock.premature = t->clock.age == RT_SAMPLED;
    if (t->clock.premature) {
        t->clock.age = RT_OLD;
        t->clock.last_ticks = ticks;
    }
    return t->clock.premature;
}

SAMPLE_PATH
struct trigger_charge trigger_charge_as(struct rt_thread *t, uint64_t ticks, uint64_t overrun)
{
    uint64_t passed = ticks - t->clock.last_ticks;
    t->clock.passed_ticks = passed;
    struct trigger_charge charge = {t->clock.multiple, 0};
    t->clock.last_ticks = ticks;
    if (t->clock.age == RT_SAMPLED)
        t->clock.age = RT_OLD;
    if (t->clock.trigger == TRIGGER_WALL)
        return charge_wall(t, passed);
    if (rt_quiet_as()) /* only a timer's expirations are merged */
        charge.weight *= 1 + overrun;
    else if (t->clock.trigger != TRIGGER_CPU)
        charge = charge_events(t);
    else if (t->timer >= 0)
        charge = charge_ticks(t);
    else
        charge = charge_cpu(t, passed, ticks);
    return charge;
}

static void period_set_as(struct rt_thread *t, uint64_t period)
{
    if (at_ticks(t))
        trigger_go_on_as(t);
    else
        perf_set_period_as(t, period);
}

/* Of the one that was `old`. */
static void period_draw(struct rt_thread *t, uint64_t old)
{
    uint64_t period = clock_draw_as(t);
    bool stopped = t->clock.once;
    t->clock.once = t->clock.limited = false;
    if (period == old && !stopped)
        return;
    period_set_as(t, period);
    if (stopped && !at_ticks(t))
        trigger_go_on_as(t);
    if (t->clock.trigger == TRIGGER_WALL || at_ticks(t))
        return;
    uint64_t now = clock_now_as(t);
    if (!counts_time(t) && now > t->clock.base)
        t->clock.owed += now - t->clock.base; /* of the period that the kernel has just forgotten */
    t->clock.base = now;
    if (t->clock.trigger == TRIGGER_CPU)
        account_set_as(t);
}

/* What has passed unseen of the period that was `old`: base is the present one's beginning. */
static void unseen_settle(struct rt_thread *t, uint64_t old)
{
    if (t->clock.trigger == TRIGGER_CPU && t->timer < 0) {
        uint64_t now = clock_now_as(t);
        uint64_t unseen = now > t->clock.base ? (now - t->clock.base) / old : 0,
                 missed = unseen * old;
        account_unseen_as(t, unseen);
        uint64_t ours = account_so_far_as(t, t->clock.last_ticks);
        t->clock.owed += missed > ours ? missed - ours : 0;
        t->clock.base += missed;
    }
}

/* A group is over, or the budget is to be looked at now. */
static void period_renew(struct rt_thread *t)
{
    uint64_t old = t->clock.period;
    unseen_settle(t, old);
    thread_name_as(t);
    budget_look(t);
    t->clock.group_left = 0;
    period_draw(t, old);
}

/* Within a group. */
static void period_vary(struct rt_thread *t)
{
    uint64_t old = t->clock.period;
    unseen_settle(t, old);
    period_draw(t, old);
}

void trigger_hurry_as(struct rt_thread *t, uint32_t times)
{
    if (!trigger_is_armed_as(t) || t->clock.multiple == 1)
        return;
    t->clock.multiple = t->clock.multiple > times ? t->clock.multiple / times : 1;
    window_begin(t, thread_cpu_note_as(t));
    period_draw(t, t->clock.period);
}

bool trigger_again_as(struct rt_thread *t)
{
    bool again = t->clock.once && !rt_quiet_as();
    if (again) {
        t->clock.limited = false;
        trigger_go_on_as(t);
    }
    return again;
}

void trigger_fix_as(struct rt_thread *t)
{
    perf_fix_others_as(t);
    uint64_t mean = t->clock.mean * t->clock.multiple;
    if (!trigger_is_armed_as(t) || t->clock.period == mean)
        return;
    t->clock.age = RT_OLD;
    t->clock.period = mean;
    period_set_as(t, mean);
    /* who resumes it starts it for one expiration, which leads to the next */
    if (!t->clock.once || t->paused)
        return;
    if (!at_ticks(t))
        perf_go_on_as(t);
    t->clock.once = t->clock.limited = false;
}

SAMPLE_PATH
void trigger_finish_as(struct rt_thread *t, uint64_t ticks_at_entry)
{
    bool quiet = rt_quiet_as();
    if (!quiet && !t->clock.premature && !t->clock.weightless) {
        ticks_look_as(t, t->clock.passed_ticks);
        if (--t->clock.group_left == 0)
            period_renew(t);
        else if (--t->clock.draw_left == 0)
            period_vary(t);
        scan_look_as(ticks_at_entry);
    }
    if (t->clock.premature)
        trigger_again_as(t);
    uint64_t cost = account_finish_as(t, ticks_at_entry);
    if (t->clock.weightless && !quiet)
        watch_look_as(t, ticks_to_ns(cost) + account_price_as(t));
    t->clock.premature = t->clock.weightless = false;
    if (quiet || !counts_time(t) ||
        !ticks_exceed(cost, t->clock.mean * t->clock.multiple / 2)) {
        t->clock.slow = 0;
        return;
    }
    /* Samples that take longer than half of a period: give the program room at once. One alone
     * proves nothing: the cost of a preempted sample is an upper bound, and on a busy core many
     * are preempted. */
    if (++t->clock.slow < SLOW_SAMPLES)
        return;
    while (ticks_to_ns(cost) * 4 > t->clock.mean * t->clock.multiple &&
           t->clock.multiple < MULTIPLE_MAX)
        t->clock.multiple *= 2;
    period_renew(t);
}
