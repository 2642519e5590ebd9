#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "sigsafe/memory_used.h"
#include "runtime/carrier/shadow/shadow_huge.h"
#include "runtime/carrier/shadow/shadow_monitor.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/hash.h"
#include "sigsafe/sys.h"

static struct shadow_account account = SHADOW_ACCOUNT_BEGIN; /* of this process */
static struct shadow_costs {
    /* of the program's processes; NULL: not looked for, or no room */
    struct shadow_common *common;
    bool sought;                   /* it was */
    bool shared;                   /* at the last trigger a shadow shared memory with the program */
    bool large;                    /* it was much memory, at the last fork */
    bool dismissed;                /* the last shadows had to end, since they cost too much */
    uint64_t look_ns;              /* CPU time of the last trigger's own work, the fork aside */
    uint64_t last_ns;              /* what the last fork had cost at the last trigger */
    uint64_t pages;                /* in use at the last look */
} costs;

void shadow_costs_paused(uint64_t ticks)
{
    uint64_t per_us = spool_header(&guest.spool)->tsc_hz / 1000000u;
    struct spool_shadows *r = shadow_monitor.record;
    __atomic_fetch_add(&r->pause_ticks, ticks, __ATOMIC_RELAXED);
    if (per_us)
        __atomic_fetch_add(&r->pauses[latency_bucket(ticks * 1000u / per_us)], 1, __ATOMIC_RELAXED);
}

static uint64_t time_ns(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

bool shadow_usage_look_as(struct shadow_usage *u)
{
    struct rusage usage;
    if (sys_call3_as(SYS_getrusage, RUSAGE_SELF, (long)&usage, 0) != 0)
        return false;
    u->faults = (uint64_t)usage.ru_minflt;
    u->cpu_ns = time_ns(usage.ru_utime) + time_ns(usage.ru_stime);
    uint64_t pages = memory_used_pages_as();
    if (pages != UINT64_MAX)
        costs.pages = pages ? pages : 1;
    u->pages = costs.pages;
    return true;
}

/* The collector measures them again and again. */
struct shadow_prices shadow_prices(void)
{
    return (struct shadow_prices){
        .copy_ns = __atomic_load_n(&shadow_settings->cow_ns, __ATOMIC_RELAXED),
        .reuse_ns = __atomic_load_n(&shadow_settings->reuse_ns, __ATOMIC_RELAXED)};
}

/* Before the first: by the memory that has to be described anew. */
uint64_t shadow_costs_last_ns(const struct shadow_usage *now)
{
    const struct shadow_prices p = shadow_prices();
    if (!shadow_monitor.record->started)
        return shadow_fork_ns(&(struct place_facts){.pages = now->pages});
    return shadow_account_cost(&account, now, &p);
}

static void account_show(void)
{
    struct spool_shadows *r = shadow_monitor.record;
    __atomic_store_n(&r->cost_ns, account.budget.all_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&r->signals_ns, account.signals_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&r->worst_ns, account.budget.worst_ns, __ATOMIC_RELAXED);
}

/* By the file that it executes. 0: not known. */
static uint64_t program_as(void)
{
    struct stat status;
    if (sys_call6_as(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/exe", (long)&status, 0, 0, 0) != 0)
        return 0;
    return (hash_word(status.st_dev) ^ status.st_ino) | UINT64_C(1) << 63;
}

/* With the other processes of the program. */
static void account_share_as(const struct shadow_usage *now)
{
    uint64_t ppm = rt.config->budget_ppm, program = ppm && !costs.sought ? program_as() : 0;
    if (program)
        costs.common = shadow_common_find(spool_header(&guest.spool)->programs, program);
    costs.sought = true;
    if (costs.common)
        shadow_budget_share(&account.budget, &costs.common->left_ns, ppm, now->cpu_ns);
}

/* The last fork will have no more costs. */
static void costs_settle(void)
{
    if (costs.common && costs.last_ns)
        shadow_common_note(costs.common, costs.last_ns);
    costs.last_ns = 0;
}

/* What has come since the last look. */
static void costs_charge_as(const struct shadow_usage *now, uint64_t signal_ns)
{
    const struct shadow_prices p = shadow_prices();
    bool sharing = shadow_seats_active(true), shared = sharing || costs.shared;
    __atomic_store_n(&costs.shared, sharing, __ATOMIC_RELAXED);
    shadow_account_look(&account, now, rt.config->budget_ppm, shadow_settings->small_pages);
    struct copies_charged c = {0, 0};
    if (shadow_monitor.record->started)
        c = shadow_account_copies(&account, now, &p, shared);
    __atomic_fetch_add(&shadow_monitor.record->copies, c.pages, __ATOMIC_RELAXED);
    shadow_account_trigger(&account, now, signal_ns, costs.look_ns);
    if (sharing && rt.config->budget_ppm &&
        shadow_account_overdrawn(&account, now, &p, rt.config->budget_ppm, c.pages)) {
        shadow_seats_dismiss();
        costs.dismissed = true;
    }
    costs.last_ns = shadow_monitor.record->started ? shadow_account_cost(&account, now, &p) : 0;
    account_share_as(now);
    account_show();
}

/* A trigger costs a signal and an empty handler; the work of the last one is known now. */
void shadow_costs_look_as(const struct shadow_usage *now)
{
    costs_charge_as(now, trigger_price_as());
}

void shadow_costs_end_as(void)
{
    struct shadow_usage now;
    if (shadow_monitor.record && shadow_usage_look_as(&now))
        costs_charge_as(&now, 0);
    costs_settle();
}

/* What the budget of this window has left, without the quarter above it, since one may take long;
 * without a budget, half as much as the program has had for itself since the fork. */
static uint64_t huge_room_ns(const struct shadow_usage *now)
{
    uint64_t limit = shadow_budget_limit_ns(rt.config->budget_ppm);
    uint64_t most = limit ? limit : (now->cpu_ns - account.last.cpu_ns) / 2;
    uint64_t spent = limit ? shadow_budget_spent(&account.budget, now->cpu_ns) : account.huge_ns;
    return spent < most ? most - spent : 0;
}

void shadow_costs_huge_as(const struct shadow_usage *now)
{
    if (!shadow_huge_due(now->cpu_ns))
        return;
    struct huge_work done = shadow_huge_restore_as(now->cpu_ns, huge_room_ns(now));
    __atomic_fetch_add(&shadow_monitor.record->huge_pages, done.pages, __ATOMIC_RELAXED);
    __atomic_fetch_add(&shadow_monitor.record->huge_ns, done.ns, __ATOMIC_RELAXED);
    shadow_account_huge(&account, now, done.ns);
    account_show();
}

/* To copy it all may cost more than a quarter of what may be spent in ten seconds. */
static bool is_large(const struct shadow_usage *now)
{
    uint64_t limit = shadow_budget_limit_ns(rt.config->budget_ppm);
    return limit && shadow_copies_ns(now->pages, shadow_prices().copy_ns) > limit / 4;
}

struct shadow_account *shadow_costs_account(void)
{
    return &account;
}

struct shadow_common *shadow_costs_common(void)
{
    return costs.common;
}

bool shadow_costs_dismissed(void)
{
    return costs.dismissed;
}

void shadow_costs_looked(uint64_t ns)
{
    __atomic_store_n(&costs.look_ns, ns, __ATOMIC_RELAXED);
}

void shadow_costs_fork_begins(const struct shadow_usage *now)
{
    costs_settle();
    shadow_account_fork(&account, now);
    __atomic_store_n(&costs.large, is_large(now), __ATOMIC_RELAXED);
    shadow_huge_note_as(now->cpu_ns);
}

void shadow_costs_forked(struct rt_thread *t, const struct shadow_usage *now, uint64_t pause_ns)
{
    __atomic_store_n(&costs.shared, true, __ATOMIC_RELAXED);
    costs.dismissed = false;
    shadow_account_pause(&account, now, pause_ns);
    account_show();
    if (costs.large)
        trigger_hurry_as(t, SHADOW_TRIGGERS_CALM / SHADOW_TRIGGERS_WATCH);
}

/* ---- of the table (carrier.h) ---- */

uint64_t shadow_trigger_ns(void)
{
    return __atomic_load_n(&costs.look_ns, __ATOMIC_RELAXED);
}

/* Where triggers do no more than ask for a fork, most of the budget is left for what forks cost,
 * and the monitor charges triggers to the same account. The program may be about to copy much
 * memory, and the budget of these ten seconds with it: triggers look for that. */
uint64_t shadow_trigger_ppm(uint64_t budget_ppm)
{
    bool watches = __atomic_load_n(&costs.shared, __ATOMIC_RELAXED) &&
                   __atomic_load_n(&costs.large, __ATOMIC_RELAXED);
    return budget_ppm / (watches ? SHADOW_TRIGGERS_WATCH : SHADOW_TRIGGERS_CALM);
}

void shadow_costs_forget(void)
{
    uint64_t pages = costs.pages; /* if they cannot be counted: those of the parent */
    costs = (struct shadow_costs){.pages = pages};
    shadow_account_clear(&account);
    shadow_huge_forget();
}
