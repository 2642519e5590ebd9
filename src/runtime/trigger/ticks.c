/* Threads that switch often are sampled at the kernel's ticks.
 *
 * A perf event that counts time is stopped and started at every context switch of its thread, and
 * the processor's timer is programmed each time: some microseconds, more on virtual machines. A
 * timer on the thread's CPU clock costs nothing there, but expires at kernel ticks only, 100 to
 * 1000 times a second:
 *
 *     event ──── switches take more than 0.5% of the CPU time ─────────────────────> timer
 *     event <─── less than a quarter of that would, `patience` looks in a row ────── timer
 *
 * That is for switches in which the thread waits. Where it is preempted, it competes for the
 * processor with others, which ends when they do; so it takes PREEMPTED as many of those.
 *
 * Bursts and shadows keep their events: what comes at a tick may come in the middle of one.
 *
 * Each look costs a system call. It comes at a sample, and at a tick of discovery, since samples
 * may be rare. A thread that has the processor to itself while its event runs down is not looked
 * at. Threads that end soon begin with a timer where they would not live to see their event expire:
 * to make an event and to close it takes longer than they do. Each thread draws when its first
 * period ends, anywhere within a period (clock.c):
 *
 *     0          BRIEF_NS                                     a period
 *     |── event ──|─────────────── timer ─────────────────────|      if BRIEF_LEAST threads before it ended by BRIEF_NS
 *     |──────────────────────── event ────────────────────────|      else
 *
 * A thread that lives on gets its first sample at the next tick, and then, as any thread with a
 * timer, an event. One that ends before it, behind the drawn moment, is charged a period to no
 * context: each thread has a sample as often as its time says.
 *
 * Servers have threads, or forked children, of a kind: where SOON_LEAST of a process's in a row
 * have changed to the timer within SOON_NS of their CPU time, those that come begin with it. Each
 * that shows to switch seldom, at the latest as it ends, halves the count.
 *
 * An event that does not run costs half as much, so the thread's is closed, and so is the process's
 * discovery event, which every thread has inherited (the collector finds threads from then on:
 * collector/record_discover.h). */
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
    BRIEF_NS = 200000,
    BRIEF_LEAST = 32,
    BRIEF_MOST = 64,
    SOON_NS = 250000000,
    SOON_LEAST = 4,
    SOON_MOST = 8,
};

/* atomic: threads in a row that have ended by BRIEF_NS; each other one halves it */
static uint32_t brief;

struct rt_switches switches_now_as(void)
{
    struct rusage usage;
    usage.ru_nvcsw = usage.ru_nivcsw = 0;
    sys_call3_as(SYS_getrusage, RUSAGE_THREAD, (long)&usage, 0);
    return (struct rt_switches){(uint64_t)usage.ru_nvcsw, (uint64_t)usage.ru_nivcsw};
}

static void look_begin(struct rt_thread *t, struct rt_switches now, uint64_t cpu_ns)
{
    t->switches = now;
    t->switches_cpu_ns = cpu_ns;
    t->looks = 0;
}

void ticks_arm_as(struct rt_thread *t)
{
    t->calm = t->patience = 0;
    if (t->timer >= 0)
        look_begin(t, (struct rt_switches){0, 0}, t->clock.base); /* it has just begun */
    if (t->fd >= 0 && t->clock.trigger == TRIGGER_CPU)
        look_begin(t, switches_now_as(), t->clock.base);
}

/* The record of the process that this one was forked by; NULL: it was executed. */
static struct spool_process *forked_by;

void ticks_forked_as(struct spool_process *parent)
{
    forked_by = parent;
}

/* Those that begin as the thread did: other threads of its process, or children of who forked it;
 * NULL: there are none. */
static uint32_t *soon_of(const struct rt_thread *t)
{
    struct spool_process *p = t->tid != guest.pid ? guest.process : forked_by;
    return p ? &p->soon_ticking : NULL;
}

static uint32_t soon_seen(const struct rt_thread *t)
{
    const uint32_t *soon = t->vfork.is_child ? NULL : soon_of(t);
    return soon ? __atomic_load_n(soon, __ATOMIC_RELAXED) : 0;
}

/* Of the thread, which switches often, or seldom. Several that count at once may be one. */
static void soon_tell(const struct rt_thread *t, bool often)
{
    uint32_t seen = soon_seen(t), *soon = soon_of(t);
    if (soon && !t->vfork.is_child && (!often || seen < SOON_MOST))
        __atomic_store_n(soon, often ? seen + 1 : seen / 2, __ATOMIC_RELAXED);
}

/* A thread that the process has begun: not its first one, nor a child on its memory, whose timer
 * would be the child's own. */
static bool may_be_brief(const struct rt_thread *t)
{
    return t->tid != guest.pid && !t->vfork.is_child;
}

/* CPU time from one switch to the next below which they come often. */
static uint64_t often_ns(void)
{
    uint64_t ns = (uint64_t)rt.config->switch_ns * OFTEN;
    return ns < OFTEN_LEAST_NS ? OFTEN_LEAST_NS : ns < OFTEN_MOST_NS ? ns : OFTEN_MOST_NS;
}

/* What has not switched so often that it would have changed, by far. */
static bool is_calm(uint64_t switches, uint64_t cpu_ns)
{
    return 4 * switches * often_ns() < cpu_ns;
}

/* At the end of a thread: it has had an event all the time, and was looked at; or a timer since its
 * first look, or its begin. */
static bool lived_seldom(const struct rt_thread *t, uint64_t cpu_ns)
{
    if (t->timer < 0)
        return !t->patience && cpu_ns >= LOOK_NS;
    struct rt_switches all = switches_now_as();
    return t->patience == 1 && is_calm(all.waits + all.preempted / PREEMPTED, cpu_ns);
}

void ticks_lived_as(const struct rt_thread *t, uint64_t cpu_ns)
{
    uint32_t seen = __atomic_load_n(&brief, __ATOMIC_RELAXED);
    if (may_be_brief(t) && (cpu_ns >= BRIEF_NS || seen < BRIEF_MOST))
        __atomic_store_n(&brief, cpu_ns < BRIEF_NS ? seen + 1 : seen / 2, __ATOMIC_RELAXED);
    if (soon_seen(t) && lived_seldom(t, cpu_ns))
        soon_tell(t, false);
}

static bool ends_soon(const struct rt_thread *t)
{
    return t->clock.drawn > BRIEF_NS && may_be_brief(t) &&
           __atomic_load_n(&brief, __ATOMIC_RELAXED) >= BRIEF_LEAST;
}

static void ticking_note(const struct rt_thread *t)
{
    if (!t->patience)
        __atomic_fetch_add(&guest.process->ticking, 1, __ATOMIC_RELAXED);
}

bool ticks_begin_with_as(struct rt_thread *t)
{
    bool often = soon_seen(t) >= SOON_LEAST;
    if (t->clock.trigger != TRIGGER_CPU || rt.carrier->translates || (!often && !ends_soon(t)) ||
        timer_open_as(t))
        return false;
    t->clock.once = false;
    clock_start_as(t);
    t->clock.age = RT_OLD;
    ticks_arm_as(t);
    if (often) {
        ticking_note(t);
        t->patience = 1;
    }
    trigger_resume_as(t);
    return true;
}

bool ticks_discover_as(const struct rt_thread *t)
{
    if (spool_trigger_at(rt.config, 0).trigger != TRIGGER_CPU || rt.carrier->translates ||
        soon_seen(t) < SOON_LEAST)
        return false;
    perf_discovery_close_as();
    return true;
}

/* `charged`: at a sample, which has charged what has passed. */
static void ticks_begin(struct rt_thread *t, bool charged)
{
    if (t->vfork.is_child || timer_open_as(t)) /* its descriptors are not the process's */
        return;
    perf_close_as(t);
    if (t->clock.age == RT_NEW && !charged)
        clock_turn_first_as(t);
    else
        clock_turn_as(t);
    trigger_go_on_as(t);
    perf_discovery_close_as();
    ticking_note(t);
    if (!t->patience && t->switches_cpu_ns < SOON_NS)
        soon_tell(t, true);
    t->calm = 0;
    t->patience = t->patience ? t->patience * 2 : 1;
    if (t->patience > PATIENCE_MOST)
        t->patience = PATIENCE_MOST;
}

static void ticks_end(struct rt_thread *t)
{
    if (perf_open_as(t))
        return;
    timer_delete_as(t);
    clock_turn_as(t);
    trigger_go_on_as(t);
    if (t->patience)
        soon_tell(t, false);
    t->calm = 0;
}

void trigger_last_as(struct rt_thread *t)
{
    if (t->fd < 0 || t->clock.trigger != TRIGGER_CPU || rt_quiet_as())
        return;
    struct rt_switches now = switches_now_as();
    account_switches_as(t, (struct rt_switches){now.waits - t->switches.waits,
                                                now.preempted - t->switches.preempted});
    t->switches = now;
}

static bool is_due(struct rt_thread *t, uint64_t passed_ticks)
{
    if (t->timer >= 0)
        return ++t->looks >= TICKS_A_LOOK;
    return ticks_exceed(passed_ticks, t->clock.period + t->clock.period / 8);
}

static bool may_look(const struct rt_thread *t)
{
    return t->clock.trigger == TRIGGER_CPU && guest.process->mechanism == MECHANISM_PERF &&
           !rt.carrier->translates;
}

static void look(struct rt_thread *t, uint64_t now_cpu_ns, bool charged)
{
    struct rt_switches now = switches_now_as();
    uint64_t waits = now.waits - t->switches.waits,
             preempted = now.preempted - t->switches.preempted;
    uint64_t seen = waits + preempted / PREEMPTED;
    uint64_t cpu_ns = now_cpu_ns > t->switches_cpu_ns ? now_cpu_ns - t->switches_cpu_ns : 0;
    if (seen < SEEN_LEAST && cpu_ns < LOOK_NS)
        return;
    look_begin(t, now, now_cpu_ns);
    if (t->timer < 0) {
        account_switches_as(t, (struct rt_switches){waits, preempted});
        if (seen * often_ns() > cpu_ns)
            ticks_begin(t, charged);
        return;
    }
    t->calm = is_calm(seen, cpu_ns) ? t->calm + 1 : 0;
    if (t->calm >= t->patience)
        ticks_end(t);
}

void ticks_look_as(struct rt_thread *t, uint64_t passed_ticks)
{
    if (may_look(t) && is_due(t, passed_ticks))
        look(t, t->clock.base, true);
}

void ticks_discovered_as(struct rt_thread *t)
{
    if (rt_quiet_as() || t->fd < 0 || __atomic_exchange_n(&t->busy, 1, __ATOMIC_ACQUIRE))
        return;
    if (may_look(t))
        look(t, cpu_clock_as(t), false);
    __atomic_store_n(&t->busy, 0, __ATOMIC_RELEASE);
}
