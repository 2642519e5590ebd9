#include "runtime/sandbox_outside.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

#include "runtime/carrier/carrier.h"
#include "runtime/interpose/alternate.h"
#include "runtime/interpose/signals_mask.h"
#include "runtime/process.h"
#include "runtime/sandbox.h"
#include "runtime/sandbox_filter.h"
#include "runtime/self.h"
#include "runtime/thread.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/sys.h"

enum { THREADS = 128, WAIT_MS = 2000, LOOK_NS = 100000 };

/* Bursts and shadows make many system calls, and calls of the program's have no trigger. Of several
 * triggers only the first one could be set. */
static bool takes_part(void)
{
    return rt.config->arm_sandboxes && !rt.config->more_triggers && rt_running_as() &&
           !rt.attached && carrier_samples_as() && !rt.carrier->translates &&
           guest.process->mechanism == MECHANISM_PERF;
}

void outside_reserve(void)
{
    static const int limits[] = {RLIMIT_AS, RLIMIT_DATA};
    uint64_t least = RLIM64_INFINITY;
    if (!takes_part())
        return;
    for (unsigned i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct rlimit64 limit = {RLIM64_INFINITY, RLIM64_INFINITY};
        sys_call6_as(SYS_prlimit64, 0, limits[i], 0, (long)&limit, 0, 0);
        if (limit.rlim_cur < least)
            least = limit.rlim_cur;
    }
    thread_reserve(THREADS, least / 16);
}

/* The collector has not answered, and has not been heard of since. */
static bool is_deaf(void)
{
    return __atomic_load_n(&spool_header(&guest.spool)->sandbox_deaf, __ATOMIC_RELAXED);
}

static void wake(void)
{
    sys_call6_as(SYS_futex, (long)&spool_header(&guest.spool)->sandbox_bell, FUTEX_WAKE, 1, 0, 0,
                 0);
}

static void bell_add(void)
{
    __atomic_fetch_add(&spool_header(&guest.spool)->sandbox_bell, 1, __ATOMIC_RELEASE);
}

void outside_announce(void)
{
    if (!takes_part())
        return;
    bell_add();
    wake();
}

/* The collector looks from time to time, too. */
static void ring(void)
{
    bell_add();
    if (sandbox_lets_wake())
        wake();
}

int32_t outside_number(void)
{
    clockid_t clock;
    /* The complement of the number, above three bits (thread_clock_of): calculated, not asked
     * for. */
    return pthread_getcpuclockid(pthread_self(), &clock) ? 0 : ~(clock >> 3);
}

static uint32_t state_of(const struct rt_thread *t)
{
    const struct spool_thread *record = __atomic_load_n(&t->outside.record, __ATOMIC_ACQUIRE);
    return record ? __atomic_load_n(&record->outside, __ATOMIC_SEQ_CST) : OUTSIDE_NONE;
}

enum left_reason outside_refuses_as(const struct rt_thread *maker)
{
    if (!sandbox_is_there_as() || !takes_part())
        return LEFT_CARRIER;
    if (is_deaf())
        return LEFT_COLLECTOR;
    if (!maker || process_of_copy_as() ||
        !(maker->outside.may || trigger_is_armed_as(maker)) || maker->filter.silenced ||
        maker->delivery.stopped || maker->alternate.too_short ||
        (signals_yield_as() && maker->mask.trap_blocked))
        return LEFT_MAKER;
    return sandbox_ends_anyway_as(maker) ? LEFT_COUNT : LEFT_DEADLY;
}

/* Of threads that have ended. */
static void states_take_back(void)
{
    /* by one at a time: what another one has taken back could be in use again, in the same slot */
    static uint32_t taking;
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE);
    if (__atomic_exchange_n(&taking, 1, __ATOMIC_ACQUIRE))
        return;
    for (uint32_t i = 0; i < used; i++) {
        struct rt_thread *t = thread_at_as(i), *seen = t;
        if (t && state_of(t) == OUTSIDE_ENDED &&
            __atomic_compare_exchange_n(&rt.slots[i], &seen, NULL, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
            thread_free_as(t);
    }
    __atomic_store_n(&taking, 0, __ATOMIC_RELEASE);
}

struct rt_thread *outside_prepare(enum left_reason *why)
{
    const struct rt_thread *maker = self_get();
    *why = outside_refuses_as(maker);
    if (*why != LEFT_COUNT)
        return NULL;
    states_take_back();
    struct rt_thread *t = thread_make_as();
    *why = LEFT_ROOM;
    if (!t)
        return NULL;
    t->outside.may = true;
    t->outside.endings = sandbox_endings_as();
    t->outside.filters = sandbox_filters_as();
    t->filter.denied = __atomic_load_n(&maker->filter.denied, __ATOMIC_SEQ_CST);
    t->clock.multiple = maker->clock.multiple; /* what the budget allowed there */
    return t;
}

/* Who silences threads has counted that, and then looks through the slots: either is seen here, or
 * there. */
static bool want(struct rt_thread *t)
{
    if (sandbox_endings_as() != t->outside.endings)
        return false;
    t->record->slot = t->slot;
    t->record->multiple = (uint32_t)t->clock.multiple;
    __atomic_store_n(&t->outside.record, t->record, __ATOMIC_SEQ_CST);
    __atomic_store_n(&t->record->outside, OUTSIDE_WANTED, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&t->filter.silenced, __ATOMIC_SEQ_CST))
        outside_leave(t);
    ring();
    return true;
}

/* Who cannot be sampled keeps its state, on which the kernel may put its signals. */
enum left_reason outside_begin(struct rt_thread *t)
{
    int32_t tid = t->outside.may ? outside_number() : 0;
    if (!tid) {
        thread_free_as(t);
        return LEFT_MAKER;
    }
    if (!thread_begin_numbered_as(t, tid))
        return LEFT_ROOM;
    sandbox_filter_thread_begins(t);
    self_set_quiet(t);
    alternate_begin_as(t);
    trigger_outside_as(t, t->clock.multiple);
    /* Without a stack for signals a frame at the very end of the thread's own would end it. */
    enum left_reason why = !t->alternate.is_ours ? LEFT_STACK : want(t) ? LEFT_COUNT : LEFT_FILTER;
    t->outside.may = why == LEFT_COUNT;
    return why;
}

enum left_reason outside_fork_child(struct rt_thread *t)
{
    if (sandbox_lets_close())
        trigger_abandon_all_as();
    t->fd = t->switch_fd = t->stop_fd = t->timer = -1;
    t->outside.record = NULL;
    t->outside.may = true;
    t->outside.endings = sandbox_endings_as();
    if (!thread_fork_child_numbered_as(t, guest.pid))
        return LEFT_ROOM;
    trigger_outside_as(t, t->clock.multiple);
    return want(t) ? LEFT_COUNT : LEFT_FILTER;
}

/* ---- no more samples ---- */

static bool change(struct spool_thread *record, uint32_t from, uint32_t to)
{
    return __atomic_compare_exchange_n(&record->outside, &from, to, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
}

/* The collector sets nothing that is not wanted any more when it has made the event, which does not
 * run until then. */
void outside_ask(struct rt_thread *t)
{
    struct spool_thread *record = __atomic_load_n(&t->outside.record, __ATOMIC_ACQUIRE);
    if (record && !change(record, OUTSIDE_WANTED, OUTSIDE_GONE) &&
        change(record, OUTSIDE_SET, OUTSIDE_LEAVES))
        ring();
}

bool outside_runs_as(const struct rt_thread *t)
{
    uint32_t state = state_of(t);
    return state == OUTSIDE_WANTED || state == OUTSIDE_SET || state == OUTSIDE_LEAVES;
}

static bool is_leaving(const struct rt_thread *t)
{
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE);
    if (t)
        return state_of(t) == OUTSIDE_LEAVES;
    for (uint32_t i = 0; i < used; i++)
        if (thread_at_as(i) && state_of(thread_at_as(i)) == OUTSIDE_LEAVES)
            return true;
    return false;
}

bool outside_await(const struct rt_thread *t)
{
    const struct timespec look = {.tv_nsec = LOOK_NS};
    uint64_t begun = 0, most = spool_header(&guest.spool)->tsc_hz / 1000 * WAIT_MS;
    while (is_leaving(t)) {
        if (!rt_running_as()) /* they were closed before that was said */
            return true;
        if (is_deaf())
            return false;
        if (!begun)
            begun = sys_ticks_as();
        if (sys_ticks_as() - begun > most)
            __atomic_store_n(&spool_header(&guest.spool)->sandbox_deaf, 1, __ATOMIC_RELAXED);
        if (sandbox_lets_sleep())
            sys_call3_as(SYS_nanosleep, (long)&look, 0, 0);
        else
            __builtin_ia32_pause();
    }
    return true;
}

bool outside_leave(struct rt_thread *t)
{
    outside_ask(t);
    return outside_await(t);
}

void outside_again_as(struct rt_thread *t)
{
    struct spool_thread *record = __atomic_load_n(&t->outside.record, __ATOMIC_ACQUIRE);
    if (record && change(record, OUTSIDE_GONE, OUTSIDE_WANTED))
        ring();
}

void outside_withdraw(void)
{
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < used; i++) {
        struct rt_thread *t = thread_at_as(i);
        struct spool_thread *record =
            t ? __atomic_load_n(&t->outside.record, __ATOMIC_ACQUIRE) : NULL;
        if (record && change(record, OUTSIDE_WANTED, OUTSIDE_GONE))
            __atomic_store_n(&t->outside.withdrawn, true, __ATOMIC_RELEASE);
    }
}

void outside_want_again(void)
{
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < used; i++) {
        struct rt_thread *t = thread_at_as(i);
        if (t && __atomic_exchange_n(&t->outside.withdrawn, false, __ATOMIC_ACQ_REL) &&
            !__atomic_load_n(&t->filter.silenced, __ATOMIC_SEQ_CST))
            outside_again_as(t);
    }
}
