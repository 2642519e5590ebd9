#include "runtime/carrier/shadow.h"

#include <asm-generic/errno-base.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "engine/engine.h"
#include "engine/hook.h"
#include "runtime/carrier/burst.h"
#include "runtime/carrier/burst_draw.h"
#include "runtime/carrier/burst_watch.h"
#include "runtime/carrier/carrier.h"
#include "runtime/carrier/shadow_barrier.h"
#include "runtime/carrier/shadow_huge.h"
#include "runtime/carrier/shadow_kept.h"
#include "runtime/carrier/input_log.h"
#include "runtime/carrier/memory_used.h"
#include "runtime/carrier/translated.h"
#include "runtime/images.h"
#include "runtime/kept_files.h"
#include "runtime/thread.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/shadow_account.h"
#include "sigsafe/shadow_place.h"
#include "sigsafe/spool_counts.h"
#include "sigsafe/spool_shadow.h"
#include "sigsafe/sys.h"
#include "tools/tools.h"

static struct {
    uint32_t busy;                /* atomic: a thread is at it */
    uint32_t retired;             /* atomic: the engine knows code that has gone */
    struct spool_shadows *record; /* NULL: not made yet */
    struct spool_counts *counts;
    struct engine *engine;        /* NULL: not made yet, or each shadow makes its own */
    struct engine *passing;       /* likewise: the one without a tool */
    struct shadow_account account; /* of this process */
    bool shared;                  /* there was a shadow at the last trigger that shared memory with the program */
    bool large;                   /* it was much memory, at the last fork */
    bool dismissed;               /* the last ones had to end, since they cost too much */
    uint64_t look_ns;             /* CPU time of the last trigger's own work, the fork aside */
    uint64_t last_ns;             /* what the last fork had cost at the last trigger */
    struct shadow_common *common; /* of the program's processes; NULL: not looked for, or no room */
    bool sought;                  /* it was */
    uint64_t saved;               /* where there is none: budget_facts.saved, for the next fork; 0: not drawn yet */
    uint64_t random;              /* 0: no seed yet */
    /* Of --threads auto. */
    int32_t interrupted;          /* the thread that a trigger interrupted last; 0: none yet */
    bool several;                 /* another one was before */
    /* Of the carrier `auto`. */
    uint64_t looked_ticks;        /* time stamp counter at the last decision; 0: none yet */
    uint64_t pages;               /* in use at the last decision */
    uint64_t fork_ns;             /* what that fork cost, as far as it is known */
    uint64_t refused;             /* forks in a row */
} monitor = {.account = SHADOW_ACCOUNT_BEGIN};

/* ---- records ---- */

static bool records_need_as(void)
{
    if (!monitor.record) {
        monitor.record = spool_alloc_as(&rt.spool, sizeof *monitor.record);
        if (monitor.record)
            __atomic_store_n(&rt.process->shadows, spool_ref_of(&rt.spool, monitor.record),
                             __ATOMIC_RELEASE);
    }
    if (!monitor.counts)
        monitor.counts = translated_counts_as();
    return monitor.record && monitor.counts;
}

/* What a tool keeps outside of the spool and of the code is not there in another process. */
static bool shares_code(void)
{
    const struct tool *tool = tool_of_kind(rt.config->tool);
    return !(rt.config->shadow_flags & SHADOW_COLD) && tool && tool->flags & TOOL_SHARED;
}

static void engine_drop_as(void)
{
    if (monitor.engine)
        engine_free_as(monitor.engine);
    if (monitor.passing)
        engine_free_as(monitor.passing);
    monitor.engine = monitor.passing = NULL;
}

/* Without it shadows observe all that they run. */
static void passing_need_as(void)
{
    struct engine_config config;
    enum stop_reason why;
    if (monitor.passing || !shadow_passes())
        return;
    shadow_passing_config(&config);
    monitor.passing = engine_make_as(&config, &why);
}

static bool engine_need_as(void)
{
    struct engine_config config;
    enum stop_reason why = STOP_COUNT;
    bool lost = __atomic_exchange_n(&monitor.record->cache_lost, 0, __ATOMIC_RELAXED);
    if (__atomic_exchange_n(&monitor.retired, 0, __ATOMIC_ACQUIRE) || lost)
        engine_drop_as();
    passing_need_as();
    if (monitor.engine || !shares_code())
        return true;
    shadow_engine_config(&config, monitor.counts);
    monitor.engine = engine_make_as(&config, &why);
    return monitor.engine;
}

static struct spool_seat *seat_take_as(void)
{
    for (uint32_t i = 0; i < SHADOW_SEATS; i++) {
        struct spool_seat *seat = &monitor.record->seats[i];
        uint32_t nobody = SEAT_FREE;
        if (__atomic_load_n(&seat->state, __ATOMIC_ACQUIRE) != SEAT_FREE)
            continue;
        __atomic_store_n(&seat->pid, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&seat->guard, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&seat->ripe, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&seat->apart, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&seat->dismissed, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&seat->verdict, VERDICT_NONE, __ATOMIC_RELAXED);
        __atomic_store_n(&seat->number, monitor.record->started + 1, __ATOMIC_RELAXED);
        if (!__atomic_compare_exchange_n(&seat->state, &nobody, SEAT_TAKEN, false,
                                         __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            continue;
        __atomic_fetch_add(&spool_header(&rt.spool)->shadows_active, 1, __ATOMIC_RELAXED);
        return seat;
    }
    return NULL;
}

/* ---- what it costs ---- */

static void pause_note(uint64_t ticks)
{
    uint64_t per_us = rt.config->tsc_hz / 1000000u;
    __atomic_fetch_add(&monitor.record->pause_ticks, ticks, __ATOMIC_RELAXED);
    if (per_us)
        __atomic_fetch_add(&monitor.record->pauses[latency_bucket(ticks * 1000u / per_us)], 1,
                           __ATOMIC_RELAXED);
}

static uint64_t time_ns(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

static bool usage_look_as(struct shadow_usage *u)
{
    struct rusage usage;
    if (sys_call3_as(SYS_getrusage, RUSAGE_SELF, (long)&usage, 0) != 0)
        return false;
    u->faults = (uint64_t)usage.ru_minflt;
    u->cpu_ns = time_ns(usage.ru_utime) + time_ns(usage.ru_stime);
    uint64_t pages = memory_used_pages_as();
    if (pages != UINT64_MAX)
        monitor.pages = pages ? pages : 1;
    u->pages = monitor.pages;
    return true;
}

/* The collector measures them again and again. */
static struct shadow_prices prices(void)
{
    return (struct shadow_prices){.copy_ns = __atomic_load_n(&rt.config->cow_ns, __ATOMIC_RELAXED),
                                  .reuse_ns = __atomic_load_n(&rt.config->reuse_ns, __ATOMIC_RELAXED)};
}

/* What the last fork has cost so far. Before the first, what it will cost: by the memory that has to be described anew. */
static uint64_t cost_ns(const struct shadow_usage *now)
{
    const struct shadow_prices p = prices();
    if (!monitor.record->started)
        return shadow_fork_ns(&(struct place_facts){.pages = now->pages});
    return shadow_account_cost(&monitor.account, now, &p);
}

static void account_show(void)
{
    struct spool_shadows *r = monitor.record;
    __atomic_store_n(&r->cost_ns, monitor.account.budget.all_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&r->worst_ns, monitor.account.budget.worst_ns, __ATOMIC_RELAXED);
}

/* sharing: one that has not yet made all memory its own. */
static bool any_active(bool sharing)
{
    bool active = false;
    for (unsigned i = 0; i < SHADOW_SEATS && !active; i++) {
        const struct spool_seat *seat = &monitor.record->seats[i];
        active = __atomic_load_n(&seat->state, __ATOMIC_ACQUIRE) == SEAT_TAKEN &&
                 !(sharing && __atomic_load_n(&seat->apart, __ATOMIC_RELAXED));
    }
    return active;
}

/* They end when they look about themselves next. */
static void shadows_dismiss(void)
{
    for (unsigned i = 0; i < SHADOW_SEATS; i++)
        __atomic_store_n(&monitor.record->seats[i].dismissed, 1, __ATOMIC_RELAXED);
    monitor.dismissed = true;
}

/* By the file that it executes. 0: not known. */
static uint64_t program_as(void)
{
    struct stat status;
    if (sys_call6_as(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/exe", (long)&status, 0, 0, 0) != 0)
        return 0;
    return (status.st_dev * UINT64_C(0x9e3779b97f4a7c15) ^ status.st_ino) | UINT64_C(1) << 63;
}

/* With the other processes of the program. */
static void account_share_as(const struct shadow_usage *now)
{
    uint64_t ppm = rt.config->budget_ppm, program = ppm && !monitor.sought ? program_as() : 0;
    if (program)
        monitor.common = shadow_common_find(spool_header(&rt.spool)->programs, program);
    monitor.sought = true;
    if (monitor.common)
        shadow_budget_share(&monitor.account.budget, &monitor.common->left_ns, ppm, now->cpu_ns);
}

/* There will be no more of it. */
static void account_note(void)
{
    if (monitor.common && monitor.last_ns)
        shadow_common_note(monitor.common, monitor.last_ns);
    monitor.last_ns = 0;
}

/* What the last fork has caused since the last trigger goes to the account, and this one: a signal and an empty handler, and as much
 * work as there was at the last one. */
static void account_look(const struct shadow_usage *now)
{
    const struct shadow_prices p = prices();
    bool sharing = any_active(true), shared = sharing || monitor.shared;
    __atomic_store_n(&monitor.shared, sharing, __ATOMIC_RELAXED);
    shadow_account_look(&monitor.account, now, rt.config->budget_ppm, rt.config->small_pages);
    struct copies_charged c = {0, 0};
    if (monitor.record->started)
        c = shadow_account_copies(&monitor.account, now, &p, shared);
    __atomic_fetch_add(&monitor.record->copies, c.pages, __ATOMIC_RELAXED);
    shadow_account_trigger(&monitor.account, now, trigger_price_as() + monitor.look_ns);
    if (sharing && rt.config->budget_ppm && shadow_account_overdrawn(&monitor.account, now, &p, rt.config->budget_ppm, c.pages))
        shadows_dismiss();
    monitor.last_ns = monitor.record->started ? shadow_account_cost(&monitor.account, now, &p) : 0;
    account_share_as(now);
    account_show();
}

/* What the budget of this window has left, without the quarter above it, since one may take long; without a budget, half as
 * much as the program has had for itself since the fork. */
static uint64_t huge_room_ns(const struct shadow_usage *now)
{
    uint64_t limit = shadow_budget_limit_ns(rt.config->budget_ppm);
    uint64_t most = limit ? limit : (now->cpu_ns - monitor.account.last.cpu_ns) / 2;
    uint64_t spent = limit ? shadow_budget_spent(&monitor.account.budget, now->cpu_ns) : monitor.account.huge_ns;
    return spent < most ? most - spent : 0;
}

static void huge_restore_as(const struct shadow_usage *now)
{
    if (!shadow_huge_due(now->cpu_ns))
        return;
    struct huge_work done = shadow_huge_restore_as(now->cpu_ns, huge_room_ns(now));
    __atomic_fetch_add(&monitor.record->huge_pages, done.pages, __ATOMIC_RELAXED);
    __atomic_fetch_add(&monitor.record->huge_ns, done.ns, __ATOMIC_RELAXED);
    shadow_account_huge(&monitor.account, now, done.ns);
    account_show();
}

/* Within a budget a shadow goes on until there is another one, unless it must not. */
static bool last_failed(void)
{
    return rt.config->shadow_flags & SHADOW_GOES_ON && monitor.record->started && !monitor.dismissed && !any_active(false);
}

static uint64_t *saved_place(void)
{
    return monitor.common ? &monitor.common->saved : &monitor.saved;
}

/* All shares are as likely, but for a fork in place of one of which nothing has come: that is all paid for afterwards. */
static uint64_t saved_draw(void)
{
    if (last_failed())
        return 0;
    if (!monitor.random)
        monitor.random = sys_ticks_as() | 1;
    uint64_t *saved = saved_place(), drawn = __atomic_load_n(saved, __ATOMIC_RELAXED);
    if (!drawn) {
        drawn = rt.config->randomize ? 1 + burst_draw(&monitor.random, BUDGET_SHARES - 1) : BUDGET_SHARES / 2;
        __atomic_store_n(saved, drawn, __ATOMIC_RELAXED);
    }
    return drawn;
}

/* A fork that comes is expected to cost as much as the last one, or more where memory has grown, and must be affordable if
 * it costs the most that it can, at the simple price of copies. Without a budget forks are so frequent that copies cannot be
 * told from the program's own page faults. */
static bool budget_allows_as(const struct shadow_usage *now)
{
    const struct shadow_prices p = prices();
    struct shadow_account *a = &monitor.account;
    bool budget = rt.config->budget_ppm;
    struct budget_facts facts = {.ppm = rt.config->budget_ppm,
                                 .cpu_ns = now->cpu_ns,
                                 .fork_cpu_ns = a->last.cpu_ns,
                                 .saved = saved_draw()};
    if (monitor.record->started)
        facts.last_ns = (budget ? shadow_account_cost(a, now, &p) : shadow_account_cost_most(a, now, &p)) + a->triggers_ns;
    if (!shadow_budget_allows(&a->budget, &facts))
        return false;
    if (!budget)
        return true;
    struct place_facts place = {.pages = now->pages, .cow_ns = p.copy_ns};
    uint64_t pause = shadow_fork_ns(&place), expected = 2 * pause; /* pages will be copied */
    facts.worst_ns = shadow_worst_ns(&place);
    if (monitor.record->started) {
        struct copies_facts copies = {.pages = now->pages, .fork_pages = a->fork_pages, .copied = shadow_account_copied(a, now)};
        uint64_t page_ns = shadow_account_page_ns(a, &p);
        facts.likely_ns = pause + shadow_copies_ns(shadow_copies_likely(&copies), page_ns);
        expected = pause + shadow_copies_ns(shadow_copies_expected(&copies), page_ns);
    } else if (monitor.common && __atomic_load_n(&monitor.common->fork_ns, __ATOMIC_RELAXED))
        expected = __atomic_load_n(&monitor.common->fork_ns, __ATOMIC_RELAXED);
    if (expected > facts.last_ns)
        facts.last_ns = expected;
    return shadow_budget_allows(&a->budget, &facts);
}

/* ---- the fork ---- */

static bool failed(long result)
{
    return result < 0 && result > -4096;
}

/* Where the collector is the program's parent it is the shadow's too, and buries it; the program never was
 * its parent, so neither wait nor times tell. */
static long fork_direct_as(struct shadow_start *start)
{
    start->parent = start->ppid;
    return sys_call6_as(SYS_clone, CLONE_PARENT, 0, 0, 0, 0, 0);
}

/* Buries guards whose work is done, or, at the end, all of them. */
static void guards_look_as(bool all)
{
    for (uint32_t i = 0; i < SHADOW_SEATS; i++) {
        struct spool_seat *seat = &monitor.record->seats[i];
        int32_t guard = __atomic_load_n(&seat->guard, __ATOMIC_RELAXED);
        if (guard <= 0 || __atomic_load_n(&seat->state, __ATOMIC_ACQUIRE) == SEAT_FREE)
            continue;
        if (all)
            sys_call3_as(SYS_kill, guard, SIGKILL, 0);
        long found = sys_call6_as(SYS_wait4, guard, 0, (long)__WCLONE | (all ? 0 : WNOHANG), 0, 0, 0);
        if (found == 0)
            continue;
        if (shadow_leave_as(spool_header(&rt.spool), seat, thread_monotonic_ns_as()))
            __atomic_fetch_add(&monitor.record->ended[all ? END_PROGRAM : END_KILLED], 1,
                               __ATOMIC_RELAXED);
        __atomic_store_n(&seat->guard, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&seat->state, SEAT_FREE, __ATOMIC_RELEASE);
    }
}

static bool has_other_threads(void)
{
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE), count = 0;
    for (uint32_t i = 0; i < used && count < 2; i++)
        count += thread_at_as(i) != NULL;
    return count > 1;
}

/* Barriers are tried, but mostly given up; or none can be closed. */
static bool barriers_fail(void)
{
    enum { TRIES = 4 };
    uint64_t failed = 0;
    if (monitor.record->gave_up[BARRIER_RIGHTS])
        return true;
    for (unsigned i = 0; i < BARRIER_COUNT; i++)
        failed += monitor.record->gave_up[i];
    return failed >= TRIES && failed > monitor.record->barriers;
}

/* Memory was not there, or code in it could not be read. */
static uint64_t faulted(const struct spool_shadows *r)
{
    return __atomic_load_n(&r->ended[END_FAULT], __ATOMIC_RELAXED) + __atomic_load_n(&r->ended[END_ENGINE], __ATOMIC_RELAXED);
}

/* A shadow is to have all threads. If it is not decided: where several have been interrupted, or shadows that had one have
 * ended as it waited for others, or ended, or needed what may be kept from them (shadow_kept.h). Long shadows are few, and
 * will come to such a wait: none of them is risked. */
static bool threads_wanted(void)
{
    const uint64_t *ended = monitor.record->ended;
    uint32_t flags = rt.config->shadow_flags;
    if (!(flags & SHADOW_THREADS_AUTO))
        return flags & SHADOW_THREADS;
    return (flags & SHADOW_GOES_ON || monitor.several || ended[END_WAIT] || ended[END_EXIT] || faulted(monitor.record)) &&
           rt.config->mechanism == MECHANISM_PERF && has_other_threads() && !barriers_fail();
}

static void threads_note(const struct rt_thread *t)
{
    monitor.several |= monitor.interrupted && monitor.interrupted != t->tid;
    monitor.interrupted = t->tid;
}

bool shadow_stops_threads(void)
{
    return rt.config->shadow_flags & (SHADOW_THREADS | SHADOW_THREADS_AUTO);
}

/* All other threads stand still, where the shadow is to have them. False: they did not, and it has to. */
static bool threads_stop_as(struct rt_thread *t, struct shadow_start *start, uint64_t begin)
{
    uint64_t size;
    if (!threads_wanted())
        return true;
    enum barrier_reason why = shadow_barrier_close_as(t);
    if (why != BARRIER_COUNT) {
        monitor.record->gave_up[why]++;
        monitor.record->barrier_ticks += sys_ticks_as() - begin;
        return rt.config->shadow_flags & SHADOW_THREADS_AUTO;
    }
    start->whole = true;
    monitor.record->barriers++;
    sys_call6_as(SYS_prctl, PR_GET_TID_ADDRESS, (long)&start->child_tid, 0, 0, 0, 0);
    sys_call3_as(SYS_get_robust_list, 0, (long)&start->robust, (long)&size);
    return true;
}

static void threads_go_on_as(const struct rt_thread *t, struct spool_seat *seat, uint64_t begin)
{
    __atomic_store_n(&seat->verdict, shadow_barrier_held_as(t) ? VERDICT_WHOLE : VERDICT_TORN,
                     __ATOMIC_RELEASE);
    sys_call3_as(SYS_futex, (long)&seat->verdict, FUTEX_WAKE, 1);
    shadow_barrier_open_as();
    monitor.record->barrier_ticks += sys_ticks_as() - begin;
}

static void seat_give_back_as(struct spool_seat *seat, enum shadow_decline why)
{
    shadow_leave_as(spool_header(&rt.spool), seat, thread_monotonic_ns_as());
    __atomic_store_n(&seat->state, SEAT_FREE, __ATOMIC_RELEASE);
    __atomic_fetch_add(&monitor.record->declined[why], 1, __ATOMIC_RELAXED);
}

/* To copy it all may cost more than a quarter of what may be spent in ten seconds. */
static bool is_large(const struct shadow_usage *now)
{
    uint64_t limit = shadow_budget_limit_ns(rt.config->budget_ppm);
    return limit && shadow_copies_ns(now->pages, prices().copy_ns) > limit / 4;
}

/* Returns twice. */
static void fork_as(struct rt_thread *t, ucontext_t *u, struct spool_seat *seat,
                    const struct shadow_usage *now)
{
    struct spool_header *h = spool_header(&rt.spool);
    struct shadow_start start = {.context = u,
                                 .engine = monitor.engine,
                                 .passing = monitor.passing,
                                 .counts = monitor.counts,
                                 .record = monitor.record,
                                 .seat = seat,
                                 .watched = burst_watch_whole_as(),
                                 .pid = rt.pid,
                                 .tid = t->tid,
                                 .ppid = (int32_t)sys_call3_as(SYS_getppid, 0, 0, 0)};
    bool direct = start.ppid == h->collector_pid;
    uint64_t begin = sys_ticks_as(), cpu = thread_cpu_ns_as();
    if (!threads_stop_as(t, &start, begin)) {
        seat_give_back_as(seat, DECLINE_BARRIER);
        return;
    }
    account_note();
    shadow_account_fork(&monitor.account, now);
    __atomic_store_n(saved_place(), 0, __ATOMIC_RELAXED);
    __atomic_store_n(&monitor.large, is_large(now), __ATOMIC_RELAXED);
    shadow_huge_note_as(now->cpu_ns);
    input_log_need_as();
    start.input_at = input_log_position_as();
    start.number = seat->number - 1;
    shadow_files_look_as();
    monitor.record->started = seat->number; /* before it: this process may be killed at any moment */
    bool undisturbed = start.whole || !has_other_threads();
    if (undisturbed)
        shadow_kept_give_as(faulted(monitor.record));
    long pid = direct ? fork_direct_as(&start) : shadow_guard_fork_as(&start);
    if (pid == 0) {
        shadow_begin_as(&start);
        return;
    }
    if (undisturbed)
        shadow_kept_take_as();
    if (start.whole)
        threads_go_on_as(t, seat, begin);
    pause_note(sys_ticks_as() - begin);
    uint64_t pause_ns = thread_cpu_ns_as() - cpu; /* it may have been interrupted: that is not its cost */
    if (failed(pid)) {
        monitor.record->started--;
        monitor.record->fork_errno = (uint32_t)-pid;
        seat_give_back_as(seat, DECLINE_FORK);
        monitor.refused++;
        return;
    }
    monitor.refused = 0;
    __atomic_store_n(&monitor.shared, true, __ATOMIC_RELAXED);
    monitor.dismissed = false;
    shadow_account_pause(&monitor.account, now, pause_ns);
    account_show();
    if (monitor.large)
        trigger_hurry_as(t, SHADOW_TRIGGERS_CALM / SHADOW_TRIGGERS_WATCH);
    __atomic_store_n(direct ? &seat->pid : &seat->guard, (int32_t)pid, __ATOMIC_RELAXED);
}

/* A killed collector leaves the program as it is, which is to be left alone from then on. */
static bool collector_lives_as(void)
{
    int32_t collector = spool_header(&rt.spool)->collector_pid;
    return sys_call3_as(SYS_kill, collector, 0, 0) != -ESRCH;
}

/* DECLINE_COUNT: none. */
static enum shadow_decline looked_refusal_as(struct shadow_usage *now)
{
    guards_look_as(false);
    if (!usage_look_as(now))
        return DECLINE_BUDGET;
    account_look(now);
    huge_restore_as(now);
    if (__atomic_load_n(&spool_header(&rt.spool)->memory_scarce, __ATOMIC_RELAXED))
        return DECLINE_SCARCE;
    if (!shadow_load_allows_as(spool_header(&rt.spool), thread_monotonic_ns_as()))
        return DECLINE_LOAD;
    if (!budget_allows_as(now))
        return DECLINE_BUDGET;
    if (!collector_lives_as())
        return DECLINE_COLLECTOR;
    if (!burst_look_as()) /* a thread that begins a burst is about it */
        __atomic_store_n(&monitor.retired, 1, __ATOMIC_RELEASE);
    return engine_need_as() ? DECLINE_COUNT : DECLINE_MEMORY;
}

/* A sandbox may end the program for any system call, so that is looked at first. */
static enum shadow_decline refusal_as(struct shadow_usage *now)
{
    if (rt_quiet_as())
        return DECLINE_SANDBOX;
    uint64_t begin = thread_cpu_ns_as();
    enum shadow_decline why = looked_refusal_as(now);
    __atomic_store_n(&monitor.look_ns, thread_cpu_ns_as() - begin, __ATOMIC_RELAXED);
    return why;
}

static void consider_as(struct rt_thread *t, ucontext_t *u)
{
    struct shadow_usage now;
    enum shadow_decline why = refusal_as(&now);
    struct spool_seat *seat = why == DECLINE_COUNT ? seat_take_as() : NULL;
    if (seat)
        fork_as(t, u, seat, &now);
    else
        __atomic_fetch_add(&monitor.record->declined[why == DECLINE_COUNT ? DECLINE_SEATS : why], 1,
                           __ATOMIC_RELAXED);
}

/* ---- the carrier `auto` ---- */

static uint32_t processors(void)
{
    uint32_t count = 0;
    for (unsigned i = 0; i < SPOOL_CPUS / 64; i++)
        for (uint64_t set = rt.config->cpus[i]; set; set &= set - 1)
            count++;
    return count;
}

/* The decision holds for an eighth of a second. */
static void place_look_as(void)
{
    enum { LOOKS = 8 };
    struct spool_shadows *r = monitor.record;
    uint64_t ticks = sys_ticks_as();
    struct shadow_usage now;
    if ((monitor.looked_ticks && ticks - monitor.looked_ticks < rt.config->tsc_hz / LOOKS) ||
        !usage_look_as(&now))
        return;
    monitor.looked_ticks = ticks;
    if (!shadow_place_is_burst(r->place)) /* what happens in place is not the last fork's cost */
        monitor.fork_ns = cost_ns(&now);
    struct place_facts facts = {.budget_ppm = rt.config->budget_ppm,
                                .pages = now.pages,
                                .fork_pages = monitor.account.fork_pages,
                                .fork_ns = monitor.fork_ns,
                                .cow_ns = prices().copy_ns,
                                .refused = monitor.refused,
                                .faulted = r->ended[END_FAULT],
                                .processors = processors()};
    for (unsigned i = 0; i < END_COUNT; i++)
        facts.ended += r->ended[i];
    enum shadow_place place = shadow_place_choose(&facts, r->place);
    if (place != r->place)
        r->placed[place]++;
    __atomic_store_n(&r->place, place, __ATOMIC_RELAXED);
}

bool shadow_in_place_as(void)
{
    return monitor.record &&
           shadow_place_is_burst(__atomic_load_n(&monitor.record->place, __ATOMIC_RELAXED));
}

uint64_t shadow_look_ns(void)
{
    return __atomic_load_n(&monitor.look_ns, __ATOMIC_RELAXED);
}

/* Where triggers do no more than ask for a fork, most of the budget is left for what forks cost, and the
 * monitor charges triggers to the same account. The program may be about to copy much memory, and the
 * budget of these ten seconds with it: triggers look for that. */
uint64_t shadow_trigger_ppm(uint64_t budget_ppm)
{
    bool watches = __atomic_load_n(&monitor.shared, __ATOMIC_RELAXED) &&
                   __atomic_load_n(&monitor.large, __ATOMIC_RELAXED);
    return budget_ppm / (watches ? SHADOW_TRIGGERS_WATCH : SHADOW_TRIGGERS_CALM);
}

bool shadow_take_as(struct rt_thread *t, ucontext_t *u, bool may_burst)
{
    if (__atomic_exchange_n(&monitor.busy, 1, __ATOMIC_ACQUIRE))
        return !shadow_in_place_as();
    bool ready = records_need_as();
    threads_note(t);
    if (ready && may_burst && !rt_quiet_as())
        place_look_as();
    bool in_place = shadow_in_place_as();
    if (in_place && !rt_quiet_as())
        guards_look_as(false);
    else if (ready)
        consider_as(t, u);
    __atomic_store_n(&monitor.busy, 0, __ATOMIC_RELEASE);
    return !in_place;
}

/* A handler finds it taken and leaves; so whoever else has it gives it back soon. It is this very thread if the
 * program ends in a handler of its own for a fault in ours. */
static void monitor_take_as(void)
{
    const struct timespec moment = {.tv_nsec = 100000};
    enum { TRIES = 1000 };
    for (int i = 0; i < TRIES && __atomic_exchange_n(&monitor.busy, 1, __ATOMIC_ACQUIRE); i++)
        sys_call3_as(SYS_nanosleep, (long)&moment, 0, 0);
}

/* ---- what changes ---- */

/* Shadows may be running in it: theirs stays, and ours is replaced at the next trigger. */
void shadow_images_changed(void)
{
    __atomic_store_n(&monitor.retired, 1, __ATOMIC_RELEASE);
}

void shadow_code_changed_as(uint64_t lo, uint64_t hi)
{
    const struct unwind_index *index = rt_profiled_as() ? images_current_as() : NULL;
    for (uint32_t i = 0; index && i < index->count; i++)
        if (lo < index->image[i].hi && hi > index->image[i].lo)
            __atomic_store_n(&monitor.retired, 1, __ATOMIC_RELEASE);
}

void shadow_program_ends_as(void)
{
    if (!rt_profiled_as() || rt_quiet_as())
        return;
    monitor_take_as();
    account_note();
    if (monitor.record)
        guards_look_as(true);
}

void shadow_program_goes_on_as(void)
{
    __atomic_store_n(&monitor.busy, 0, __ATOMIC_RELEASE);
}

void shadow_forget(void)
{
    engine_drop_as();
    burst_watch_fork_child();
    input_log_forget();
    shadow_huge_forget();
    shadow_kept_forget();
    monitor.record = NULL;
    monitor.counts = NULL;
    shadow_account_clear(&monitor.account);
    monitor.shared = monitor.large = monitor.dismissed = monitor.sought = false;
    monitor.common = NULL;
    monitor.last_ns = monitor.saved = monitor.random = monitor.looked_ticks = monitor.refused = monitor.look_ns = 0;
    monitor.interrupted = 0;
    monitor.several = false;
    monitor.retired = 0;
    monitor.busy = 0;
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

const struct carrier carrier_shadow = {
    .translates = true,
    .system_calls = &shadow_calls,
    .sample_as = sample_as,
    .take_as = take_as,
    .trigger_ppm = shadow_trigger_ppm,
    .trigger_ns = shadow_look_ns,
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
