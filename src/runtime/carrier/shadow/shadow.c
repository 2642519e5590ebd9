#include "runtime/carrier/shadow/shadow.h"

#include <asm-generic/errno-base.h>
#include <sys/mman.h>
#include <time.h>

#include "runtime/carrier/burst/burst.h"
#include "runtime/carrier/burst/burst_watch.h"
#include "runtime/carrier/carrier.h"
#include "runtime/input/input_log.h"
#include "runtime/carrier/shadow/shadow_barrier.h"
#include "runtime/carrier/shadow/shadow_kept.h"
#include "runtime/carrier/shadow/shadow_monitor.h"
#include "runtime/carrier/translated.h"
#include "guest/images.h"
#include "runtime/kept_files.h"
#include "runtime/thread.h"
#include "sigsafe/sys.h"

struct shadow_monitor shadow_monitor;
const struct shadow_settings *shadow_settings;

static bool records_need_as(void)
{
    struct shadow_monitor *m = &shadow_monitor;
    if (!m->record) {
        struct spool_shadows *record = spool_alloc_as(&guest.spool, sizeof *record);
        __atomic_store_n(&m->record, record, __ATOMIC_RELEASE); /* pairs with declined_as */
        if (record)
            __atomic_store_n(&guest.process->shadows, spool_ref_of(&guest.spool, record),
                             __ATOMIC_RELEASE);
    }
    if (!m->counts)
        m->counts = translated_counts_as();
    return m->record && m->counts;
}

/* ---- a trigger ---- */

/* A killed collector leaves the program as it is, which is to be left alone from then on. */
static bool collector_lives_as(void)
{
    int32_t collector = spool_header(&guest.spool)->collector_pid;
    return sys_call3_as(SYS_kill, collector, 0, 0) != -ESRCH;
}

/* DECLINE_COUNT: none. */
static enum shadow_decline looked_refusal_as(struct shadow_usage *now)
{
    shadow_guards_look_as(false);
    if (!shadow_usage_look_as(now))
        return DECLINE_BUDGET;
    shadow_costs_look_as(now);
    shadow_costs_huge_as(now);
    if (__atomic_load_n(&spool_header(&guest.spool)->memory_scarce, __ATOMIC_RELAXED))
        return DECLINE_SCARCE;
    if (!shadow_load_allows_as(spool_header(&guest.spool), thread_monotonic_ns_as()) ||
        shadow_sees_all_as(now))
        return DECLINE_LOAD;
    if (!shadow_budget_has_room_as(now))
        return DECLINE_BUDGET;
    if (!collector_lives_as())
        return DECLINE_COLLECTOR;
    if (!burst_look_as()) /* a thread that begins a burst is about it */
        shadow_engines_retire();
    return shadow_engines_need_as() ? DECLINE_COUNT : DECLINE_MEMORY;
}

/* A sandbox may end the program for any system call, so that is looked at first. */
static enum shadow_decline refusal_as(struct shadow_usage *now)
{
    if (rt_quiet_as())
        return DECLINE_SANDBOX;
    uint64_t begin = thread_cpu_ns_as();
    enum shadow_decline why = looked_refusal_as(now);
    shadow_costs_looked(thread_cpu_ns_as() - begin);
    return why;
}

/* Without a record yet there is nowhere to count it. */
static void declined_as(enum shadow_decline why)
{
    struct spool_shadows *record = __atomic_load_n(&shadow_monitor.record, __ATOMIC_ACQUIRE);
    if (record)
        __atomic_fetch_add(&record->declined[why], 1, __ATOMIC_RELAXED);
}

static void consider_as(struct rt_thread *t, ucontext_t *u)
{
    struct shadow_usage now;
    enum shadow_decline why = refusal_as(&now);
    struct spool_seat *seat = why == DECLINE_COUNT ? shadow_seat_take_as() : NULL;
    if (seat) {
        shadow_fork_as(t, u, seat, &now);
        return;
    }
    declined_as(why == DECLINE_COUNT ? DECLINE_SEATS : why);
}

bool shadow_take_as(struct rt_thread *t, ucontext_t *u, bool may_burst)
{
    if (__atomic_exchange_n(&shadow_monitor.busy, 1, __ATOMIC_ACQUIRE)) {
        bool in_place = shadow_in_place_as();
        if (!in_place)
            declined_as(DECLINE_BUSY);
        return !in_place;
    }
    bool ready = records_need_as();
    shadow_threads_note(t);
    if (ready && may_burst && !rt_quiet_as())
        shadow_place_look_as();
    bool in_place = shadow_in_place_as();
    if (in_place && !rt_quiet_as())
        shadow_guards_look_as(false);
    else if (ready)
        consider_as(t, u);
    __atomic_store_n(&shadow_monitor.busy, 0, __ATOMIC_RELEASE);
    return !in_place;
}

/* A handler finds it taken and leaves; so whoever else has it gives it back soon. It is this very
 * thread if the program ends in a handler of its own for a fault in ours. */
static void monitor_take_as(void)
{
    const struct timespec moment = {.tv_nsec = 100000};
    enum { TRIES = 1000 };
    for (int i = 0; i < TRIES && __atomic_exchange_n(&shadow_monitor.busy, 1, __ATOMIC_ACQUIRE);
         i++)
        sys_call3_as(SYS_nanosleep, (long)&moment, 0, 0);
}

/* ---- what changes ---- */

void shadow_images_changed(void)
{
    shadow_engines_retire();
}

void shadow_code_changed_as(uint64_t lo, uint64_t hi)
{
    const struct unwind_index *index = rt_profiled_as() ? images_current_as() : NULL;
    for (uint32_t i = 0; index && i < index->count; i++)
        if (lo < index->image[i].hi && hi > index->image[i].lo)
            shadow_engines_retire();
}

void shadow_program_ends_as(void)
{
    if (!rt_profiled_as() || rt_quiet_as())
        return;
    monitor_take_as();
    shadow_costs_end_as();
    if (shadow_monitor.record)
        shadow_guards_look_as(true);
}

void shadow_program_goes_on_as(void)
{
    __atomic_store_n(&shadow_monitor.busy, 0, __ATOMIC_RELEASE);
}

void shadow_forget(void)
{
    shadow_engines_forget();
    shadow_costs_forget();
    shadow_policy_forget();
    shadow_kept_forget();
    burst_watch_fork_child();
    input_log_forget();
    shadow_monitor = (struct shadow_monitor){0};
}

/* ---- the table ---- */

static bool sample_as(struct rt_thread *t, const struct unwind_regs *regs,
                      struct trigger_charge charge)
{
    (void)regs;
    return translated_due_as(t, charge);
}

static void take_as(struct rt_thread *t, ucontext_t *u, uint64_t ticks)
{
    (void)ticks;
    shadow_take_as(t, u, false);
}

/* Of code that becomes writable the kernel tells (burst_watch.h). */
static void memory_changed(uint64_t lo, uint64_t hi, enum memory_change how)
{
    if (how == MEMORY_MOVED)
        shadow_code_changed_as(lo, hi);
}

static void files_keep_as(void)
{
    kept_open_as(KEPT_USED);
}

static const struct sandbox_call calls[] = {
    SANDBOX_PLAIN(clone), SANDBOX_PLAIN(prctl), SANDBOX_PLAIN(fcntl), SANDBOX_PLAIN(fstat),
    SANDBOX_PLAIN(kill), SANDBOX_PLAIN(wait4), SANDBOX_PLAIN(dup3), SANDBOX_PLAIN(setsid),
    SANDBOX_PLAIN(write), SANDBOX_PLAIN(memfd_create), SANDBOX_PLAIN(fallocate),
    SANDBOX_PLAIN(sendfile), SANDBOX_PLAIN(close_range), SANDBOX_PLAIN(set_tid_address),
    SANDBOX_PLAIN(get_robust_list), SANDBOX_PLAIN(set_robust_list), SANDBOX_PLAIN(rseq),
    SANDBOX_PLAIN(sched_setscheduler), SANDBOX_PLAIN(sched_setaffinity), SANDBOX_PLAIN(exit_group),
    SANDBOX_PLAIN(getdents64), SANDBOX_PLAIN(getrusage), SANDBOX_PLAIN(getpgid),
    SANDBOX_PLAIN(getsid), SANDBOX_PLAIN(getpgrp), SANDBOX_PLAIN(getsockopt),
    SANDBOX_PLAIN(getsockname), SANDBOX_PLAIN(getpeername), SANDBOX_PLAIN(epoll_ctl),
    SANDBOX_PLAIN(epoll_pwait2), SANDBOX_PLAIN(uname), SANDBOX_PLAIN(setpriority)};

const struct sandbox_calls shadow_calls = {calls, sizeof calls / sizeof *calls, &translated_calls};

static bool settings_take(const struct spool *spool)
{
    shadow_settings = settings_shadow_as(spool);
    input_wanted = shadow_settings && shadow_settings->flags & SHADOW_LOG_INPUT;
    return shadow_settings != NULL;
}

const struct carrier carrier_shadow = {
    .translates = true,
    .system_calls = &shadow_calls,
    .settings_take = settings_take,
    .sample_as = sample_as,
    .take_as = take_as,
    .trigger_ppm = shadow_trigger_ppm,
    .trigger_ns = shadow_trigger_ns,
    .thread_begin_as = burst_watch_thread_as,
    .stops_threads = shadow_stops_threads,
    .stop_as = shadow_barrier_join_as,
    .images_changed = shadow_images_changed,
    .memory_changed = memory_changed,
    .files_keep_as = files_keep_as,
    .fork_prepare = shadow_kept_fork_begins,
    .fork_parent = shadow_kept_fork_ends,
    .forget = shadow_forget,
    .program_ends_as = shadow_program_ends_as,
    .program_goes_on_as = shadow_program_goes_on_as,
};
