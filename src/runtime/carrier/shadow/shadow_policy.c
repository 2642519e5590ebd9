#include "runtime/carrier/burst/burst_draw.h"
#include "runtime/carrier/shadow/shadow_monitor.h"
#include "runtime/thread.h"
#include "sigsafe/sys.h"

static struct shadow_policy {
    uint64_t saved;        /* budget_facts.saved, for the next fork; 0: not drawn yet. Only where
                              there is no account of all processes */
    uint64_t random;       /* 0: no seed yet */
    uint64_t refused;      /* forks in a row */
    /* Of --threads auto. */
    int32_t interrupted;   /* the thread that a trigger interrupted last; 0: none yet */
    bool several;          /* another one was before */
    /* Of the carrier `auto`. */
    uint64_t looked_ticks; /* time stamp counter at the last decision; 0: none yet */
    uint64_t fork_ns;      /* what the last fork cost, as far as it is known */
} policy;

/* ---- may it be forked? ---- */

/* Within a budget a shadow goes on until there is another one, unless it must not. */
static bool last_failed(void)
{
    return shadow_settings->flags & SHADOW_GOES_ON && shadow_monitor.record->started &&
           !shadow_costs_dismissed() && !shadow_seats_active(false);
}

static uint64_t *saved_place(void)
{
    struct shadow_common *common = shadow_costs_common();
    return common ? &common->saved : &policy.saved;
}

/* All shares are as likely, but for a fork in place of one of which nothing has come: that is all
 * paid for afterwards. */
static uint64_t saved_draw(void)
{
    if (last_failed())
        return 0;
    if (!policy.random)
        policy.random = sys_ticks_as() | 1;
    uint64_t *saved = saved_place(), drawn = __atomic_load_n(saved, __ATOMIC_RELAXED);
    if (!drawn) {
        drawn = rt.config->randomize ? 1 + burst_draw(&policy.random, BUDGET_SHARES - 1)
                                     : BUDGET_SHARES / 2;
        __atomic_store_n(saved, drawn, __ATOMIC_RELAXED);
    }
    return drawn;
}

/* Its shadows go on after its end: the collector is their parent. */
static bool shadows_finish_as(void)
{
    const uint32_t both = SHADOW_GOES_ON | SHADOW_FINISHES;
    return (shadow_settings->flags & both) == both &&
           sys_call3_as(SYS_getppid, 0, 0, 0) == spool_header(&guest.spool)->collector_pid;
}

/* A shadow sees what comes after its fork. So the first one of all begins with the program, on
 * credit; or what the program does first would be seen in few runs. */
static bool is_first_as(const struct shadow_common *common)
{
    return common && !shadow_monitor.record->started &&
           !__atomic_load_n(&common->fork_ns, __ATOMIC_RELAXED) && shadows_finish_as();
}

bool shadow_sees_all_as(const struct shadow_usage *now)
{
    const uint64_t ms = 1000000;
    return shadow_monitor.record->started &&
           now->cpu_ns - shadow_costs_account()->last.cpu_ns < shadow_settings->alone_ms * ms &&
           shadow_seats_active(false) && shadows_finish_as();
}

/* A fork that comes is expected to cost as much as the last one, or more where memory has grown,
 * and must be affordable if it costs the most that it can, at the simple price of copies. Without a
 * budget forks are so frequent that copies cannot be told from the program's own page faults. */
bool shadow_budget_has_room_as(const struct shadow_usage *now)
{
    const struct shadow_prices p = shadow_prices();
    struct shadow_account *a = shadow_costs_account();
    bool budget = rt.config->budget_ppm;
    struct budget_facts facts = {.ppm = rt.config->budget_ppm,
                                 .cpu_ns = now->cpu_ns,
                                 .fork_cpu_ns = a->last.cpu_ns,
                                 .saved = saved_draw()};
    if (shadow_monitor.record->started)
        facts.last_ns =
            (budget ? shadow_account_cost(a, now, &p) : shadow_account_cost_most(a, now, &p)) +
            a->triggers_ns;
    facts.credit = budget && is_first_as(shadow_costs_common());
    if (!shadow_budget_allows(&a->budget, &facts))
        return false;
    if (!budget)
        return true;
    struct place_facts place = {.pages = now->pages, .cow_ns = p.copy_ns};
    uint64_t pause = shadow_fork_ns(&place), expected = 2 * pause; /* pages will be copied */
    facts.worst_ns = shadow_worst_ns(&place);
    if (shadow_monitor.record->started) {
        struct copies_facts copies = {.pages = now->pages, .fork_pages = a->fork_pages,
                                      .copied = shadow_account_copied(a, now)};
        uint64_t page_ns = shadow_account_page_ns(a, &p);
        facts.likely_ns = pause + shadow_copies_ns(shadow_copies_likely(&copies), page_ns);
        expected = pause + shadow_copies_ns(shadow_copies_expected(&copies), page_ns);
    } else if (shadow_costs_common()) {
        uint64_t of_others = __atomic_load_n(&shadow_costs_common()->fork_ns, __ATOMIC_RELAXED);
        expected = of_others ? of_others : expected;
    }
    if (expected > facts.last_ns)
        facts.last_ns = expected;
    return shadow_budget_allows(&a->budget, &facts);
}

void shadow_policy_fork_begins(void)
{
    __atomic_store_n(saved_place(), 0, __ATOMIC_RELAXED);
}

void shadow_policy_forked(bool made)
{
    policy.refused = made ? 0 : policy.refused + 1;
}

/* ---- is it to have all threads? ---- */

bool shadow_has_other_threads(void)
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
    if (shadow_monitor.record->gave_up[BARRIER_RIGHTS])
        return true;
    for (unsigned i = 0; i < BARRIER_COUNT; i++)
        failed += shadow_monitor.record->gave_up[i];
    return failed >= TRIES && failed > shadow_monitor.record->barriers;
}

uint64_t shadow_faulted(void)
{
    const struct spool_shadows *r = shadow_monitor.record;
    return __atomic_load_n(&r->ended[END_FAULT], __ATOMIC_RELAXED) +
           __atomic_load_n(&r->ended[END_ENGINE], __ATOMIC_RELAXED);
}

/* A shadow is to have all threads. If it is not decided: where several have been interrupted, or
 * shadows that had one have ended as it waited for others, or ended, or needed what may be kept
 * from them (shadow_kept.h). Long shadows are few, and will come to such a wait: none of them is
 * risked. */
bool shadow_threads_wanted(void)
{
    const uint64_t *ended = shadow_monitor.record->ended;
    uint32_t flags = shadow_settings->flags;
    if (!(flags & SHADOW_THREADS_AUTO))
        return flags & SHADOW_THREADS;
    return (flags & SHADOW_GOES_ON || policy.several || ended[END_WAIT] || ended[END_EXIT] ||
            shadow_faulted()) &&
           rt.config->mechanism == MECHANISM_PERF && shadow_has_other_threads() && !barriers_fail();
}

void shadow_threads_note(const struct rt_thread *t)
{
    policy.several |= policy.interrupted && policy.interrupted != t->tid;
    policy.interrupted = t->tid;
}

/* ---- are bursts better? (the carrier `auto`) ---- */

static uint32_t processors(void)
{
    uint32_t count = 0;
    for (unsigned i = 0; i < SPOOL_CPUS / 64; i++)
        for (uint64_t set = shadow_settings->cpus[i]; set; set &= set - 1)
            count++;
    return count;
}

/* The decision holds for an eighth of a second. */
void shadow_place_look_as(void)
{
    enum { LOOKS = 8 };
    struct spool_shadows *r = shadow_monitor.record;
    uint64_t ticks = sys_ticks_as();
    struct shadow_usage now;
    if ((policy.looked_ticks &&
         ticks - policy.looked_ticks < spool_header(&guest.spool)->tsc_hz / LOOKS) ||
        !shadow_usage_look_as(&now))
        return;
    policy.looked_ticks = ticks;
    if (!shadow_place_is_burst(r->place)) /* what happens in place is not the last fork's cost */
        policy.fork_ns = shadow_costs_last_ns(&now);
    struct place_facts facts = {.budget_ppm = rt.config->budget_ppm,
                                .pages = now.pages,
                                .fork_pages = shadow_costs_account()->fork_pages,
                                .fork_ns = policy.fork_ns,
                                .cow_ns = shadow_prices().copy_ns,
                                .refused = policy.refused,
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
    return shadow_monitor.record &&
           shadow_place_is_burst(__atomic_load_n(&shadow_monitor.record->place, __ATOMIC_RELAXED));
}

void shadow_policy_forget(void)
{
    policy = (struct shadow_policy){0};
}
