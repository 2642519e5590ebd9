#include "runtime/carrier/shadow/shadow_barrier.h"

#include <asm-generic/errno-base.h>
#include <asm/prctl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include "runtime/carrier/shadow/barrier_look.h"
#include "runtime/carrier/shadow/shadow.h"
#include "runtime/tasks.h"
#include "runtime/thread.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/sys.h"

enum { ROUND_NS = 100000, THREAD_ROUNDS = 50, THREAD_ROUND_MS = 100 };

static struct {
    uint32_t number;  /* atomic, futex: odd while it is closed */
    uint32_t arrived; /* atomic, futex: threads that have joined this one */
    uint32_t expected; /* atomic; the monitor is woken when so many have arrived */
    bool runs;        /* at the last look somebody did; ... */
    bool unreachable; /* ... of these somebody whom we cannot stop */
    uint64_t deadline;
    uint64_t trace;   /* of those that sleep, and how often each had run, at the last look */
    uint32_t count;
    struct barrier_place places[BARRIER_PLACES];
} barrier;

static void futex_wait_as(uint32_t *word, uint32_t value, uint64_t ns)
{
    struct timespec most = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    sys_call6_as(SYS_futex, (long)word, FUTEX_WAIT_PRIVATE, value, (long)&most, 0, 0);
}

static void futex_wake_as(uint32_t *word, long most)
{
    sys_call3_as(SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, most);
}

/* ---- a thread ---- */

static void describe_as(struct rt_barrier *b, ucontext_t *u)
{
    uint64_t size = 0;
    b->fs = b->gs = b->child_tid = b->robust = 0;
    sys_call3_as(SYS_arch_prctl, ARCH_GET_FS, (long)&b->fs, 0);
    sys_call3_as(SYS_arch_prctl, ARCH_GET_GS, (long)&b->gs, 0);
    sys_call6_as(SYS_prctl, PR_GET_TID_ADDRESS, (long)&b->child_tid, 0, 0, 0, 0);
    sys_call3_as(SYS_get_robust_list, 0, (long)&b->robust, (long)&size);
    b->context = u;
}

void shadow_barrier_join_as(struct rt_thread *t, ucontext_t *u)
{
    uint32_t number = __atomic_load_n(&barrier.number, __ATOMIC_ACQUIRE);
    if (!(number & 1))
        return;
    describe_as(&t->carrier.barrier, u);
    __atomic_store_n(&t->carrier.barrier.joined, number, __ATOMIC_RELEASE);
    if (__atomic_add_fetch(&barrier.arrived, 1, __ATOMIC_RELEASE) >=
        __atomic_load_n(&barrier.expected, __ATOMIC_RELAXED))
        futex_wake_as(&barrier.arrived, 1);
    for (int i = 0; i < THREAD_ROUNDS; i++) {
        if (__atomic_load_n(&barrier.number, __ATOMIC_ACQUIRE) != number)
            break;
        futex_wait_as(&barrier.number, number, UINT64_C(1000000) * THREAD_ROUND_MS);
    }
    /* A copy that is made from now on does not find it. */
    __atomic_store_n(&t->carrier.barrier.joined, 0, __ATOMIC_RELEASE);
}

/* ---- the monitor ---- */

static bool has_joined(const struct rt_thread *t)
{
    return t && __atomic_load_n(&t->carrier.barrier.joined, __ATOMIC_ACQUIRE) == barrier.number;
}

/* With an alternate stack that no signal fits on, a thread gets none. */
static bool is_reachable(const struct rt_thread *t)
{
    return t && t->stop_fd >= 0 && !t->alternate.too_short;
}

static void event_start_as(struct rt_thread *t)
{
    if (t->carrier.barrier.asked == barrier.number)
        return;
    t->carrier.barrier.asked = barrier.number;
    trigger_stop_thread_as(t, true);
}

/* Of all threads that have one. How many there are. */
static uint32_t events_control_as(const struct rt_thread *monitor, bool on)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < rt.slots_used; i++) {
        struct rt_thread *t = thread_at_as(i);
        if (!t || t == monitor || !is_reachable(t))
            continue;
        if (on)
            event_start_as(t);
        else
            trigger_stop_thread_as(t, false);
        count++;
    }
    return count;
}

static bool is_over_as(void)
{
    return thread_monotonic_ns_as() >= barrier.deadline;
}

/* Until `expected` have come, or nobody has come for a while. */
static void arrivals_await_as(uint32_t expected)
{
    uint32_t seen, before;
    __atomic_store_n(&barrier.expected, expected, __ATOMIC_RELEASE);
    do {
        before = __atomic_load_n(&barrier.arrived, __ATOMIC_ACQUIRE);
        if (before < expected)
            futex_wait_as(&barrier.arrived, before, ROUND_NS);
        seen = __atomic_load_n(&barrier.arrived, __ATOMIC_ACQUIRE);
    } while (seen != before && seen < expected && !is_over_as());
}

/* One look at a thread. Of one that runs nothing is known, but that it has to stop; if it has just
 * begun, or ends, it cannot be asked to, and will be in another place soon. */
static enum barrier_reason place_look_as(struct barrier_place *place)
{
    place->stopped = has_joined(place->thread);
    if (place->stopped)
        return place->thread->carrier.barrier.gs ? BARRIER_STATE : BARRIER_COUNT;
    enum look look = barrier_look_as(place);
    if (look == LOOK_FAILED)
        return BARRIER_LOOK;
    /* it came meanwhile: then it sleeps in our own code */
    place->stopped = has_joined(place->thread);
    if (look == LOOK_GONE)
        place->tid = 0;
    if (look != LOOK_RUNS || place->stopped)
        return BARRIER_COUNT;
    barrier.runs = true;
    if (is_reachable(place->thread))
        event_start_as(place->thread);
    else
        barrier.unreachable = true;
    return BARRIER_COUNT;
}

static void trace_add(const struct barrier_place *place)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    if (place->tid && !place->stopped)
        barrier.trace = (barrier.trace ^ ((uint64_t)place->tid << 32 ^ place->turns)) * odd;
}

/* Looks at all threads there are now. */
static enum barrier_reason look_as(const struct rt_thread *monitor)
{
    barrier.runs = barrier.unreachable = false;
    long count = barrier_list_as(monitor->tid, barrier.places, BARRIER_PLACES);
    if (count < 0)
        return count == -E2BIG ? BARRIER_MANY : BARRIER_LOOK;
    barrier.count = (uint32_t)count;
    barrier.trace = 0;
    for (uint32_t i = 0; i < barrier.count; i++) {
        struct barrier_place *place = &barrier.places[i];
        if (is_over_as())
            return BARRIER_TIMEOUT;
        place->thread = thread_find_as(place->tid);
        enum barrier_reason why = place_look_as(place);
        if (why != BARRIER_COUNT)
            return why;
        trace_add(place);
    }
    return BARRIER_COUNT;
}

/* struct siginfo of rt_tgsigqueueinfo. */
static void signal_queue_as(const struct rt_thread *t)
{
    siginfo_t info = {0};
    info.si_code = SI_QUEUE;
    info.si_value.sival_ptr = (void *)(uintptr_t)((uint64_t)rt.cookie << 32 | t->slot | STOP_SLOT);
    sys_call6_as(SYS_rt_tgsigqueueinfo, guest.pid, t->tid, rt.config->signal, (long)&info, 0, 0);
}

/* Those in futex(wait) without a time limit: what wakes them is in the copy too. How many. */
static uint32_t waiters_stop_as(void)
{
    uint32_t called = 0;
    for (uint32_t i = 0; i < barrier.count; i++) {
        const struct barrier_place *place = &barrier.places[i];
        if (!place->tid || place->stopped || !is_reachable(place->thread) ||
            !barrier_waits_for_good(place) ||
            task_blocks_as(place->tid, (int)rt.config->signal))
            continue;
        signal_queue_as(place->thread);
        called++;
    }
    return called;
}

/* Looks until nobody runs. twice: and nobody has run between two looks, which are of all threads:
 * so there was a moment between them at which all stood still. */
static enum barrier_reason quiet_await_as(const struct rt_thread *monitor, uint32_t expected,
                                          bool twice)
{
    bool same = false, ran = true;
    while (ran || !same) {
        uint64_t before = barrier.trace;
        if (ran)
            arrivals_await_as(expected);
        enum barrier_reason why = look_as(monitor);
        if (why != BARRIER_COUNT)
            return why;
        same = !twice || (!ran && barrier.trace == before);
        ran = barrier.runs;
        if ((ran || !same) && is_over_as())
            return barrier.unreachable ? BARRIER_UNKNOWN : BARRIER_TIMEOUT;
    }
    return BARRIER_COUNT;
}

static enum barrier_reason stop_as(const struct rt_thread *monitor)
{
    barrier.deadline = thread_monotonic_ns_as() + UINT64_C(1000) * shadow_settings->barrier_us;
    if (rt.config->mechanism != MECHANISM_PERF)
        return BARRIER_EVENTS;
    if (!barrier_may_look_as(monitor->tid))
        return BARRIER_RIGHTS;
    uint32_t expected = events_control_as(monitor, true);
    enum barrier_reason why = quiet_await_as(monitor, expected, false);
    if (why != BARRIER_COUNT)
        return why;
    uint32_t called = waiters_stop_as();
    uint32_t arrived = __atomic_load_n(&barrier.arrived, __ATOMIC_ACQUIRE);
    return quiet_await_as(monitor, arrived + called, true);
}

bool shadow_barrier_held_as(const struct rt_thread *monitor)
{
    uint64_t before = barrier.trace;
    barrier.deadline = UINT64_MAX;
    return look_as(monitor) == BARRIER_COUNT && !barrier.runs && barrier.trace == before;
}

enum barrier_reason shadow_barrier_close_as(const struct rt_thread *monitor)
{
    barrier.count = 0;
    barrier.arrived = 0;
    __atomic_fetch_add(&barrier.number, 1, __ATOMIC_RELEASE);
    enum barrier_reason why = stop_as(monitor);
    events_control_as(monitor, false);
    if (why != BARRIER_COUNT)
        shadow_barrier_open_as();
    return why;
}

void shadow_barrier_open_as(void)
{
    __atomic_fetch_add(&barrier.number, 1, __ATOMIC_RELEASE);
    futex_wake_as(&barrier.number, BARRIER_PLACES);
}

const struct barrier_place *shadow_barrier_places(uint32_t *count)
{
    *count = barrier.count;
    return barrier.places;
}
