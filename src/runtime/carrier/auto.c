/* The carrier `auto` is composed of two: shadows where they are affordable, else bursts in place.
 * Each process decides, again and again (sigsafe/shadow_place.h). */
#include "runtime/carrier/burst/burst.h"
#include "runtime/carrier/carrier.h"
#include "runtime/carrier/shadow/shadow.h"
#include "runtime/carrier/shadow/shadow_barrier.h"
#include "runtime/carrier/shadow/shadow_kept.h"

static bool settings_take(const struct spool *spool)
{
    return carrier_burst.settings_take(spool) && carrier_shadow.settings_take(spool);
}

static bool sample_as(struct rt_thread *t, const struct unwind_regs *regs,
                      struct trigger_charge charge)
{
    const struct carrier *of = shadow_in_place_as() ? &carrier_burst : &carrier_shadow;
    return of->sample_as(t, regs, charge);
}

static void take_as(struct rt_thread *t, ucontext_t *u, uint64_t ticks)
{
    if (!shadow_take_as(t, u, true))
        burst_take_as(t, u, ticks);
}

static uint64_t trigger_ppm(uint64_t budget_ppm)
{
    return shadow_in_place_as() ? budget_ppm : shadow_trigger_ppm(budget_ppm);
}

static void state_begin_as(struct rt_thread *t)
{
    carrier_burst.thread_begin_as(t);
}

static void images_changed(void)
{
    carrier_burst.images_changed();
    carrier_shadow.images_changed();
}

static void memory_changed(uint64_t lo, uint64_t hi, enum memory_change how)
{
    carrier_burst.memory_changed(lo, hi, how);
    carrier_shadow.memory_changed(lo, hi, how);
}

static void files_keep_as(void)
{
    carrier_burst.files_keep_as();
    carrier_shadow.files_keep_as();
}

static void forget(void)
{
    carrier_burst.forget();
    carrier_shadow.forget();
}

const struct carrier carrier_auto = {
    .translates = true,
    .system_calls = &shadow_calls, /* those of bursts are among them */
    .settings_take = settings_take,
    .sample_as = sample_as,
    .take_as = take_as,
    .trigger_ppm = trigger_ppm,
    .trigger_ns = shadow_trigger_ns,
    .trap_as = burst_trap_as,
    .fault_as = burst_fault_as,
    .thread_begin_as = state_begin_as,
    .thread_end_as = burst_thread_end_as,
    .is_active_as = burst_is_active_as,
    .stops_threads = shadow_stops_threads,
    .stop_as = shadow_barrier_join_as,
    .images_changed = images_changed,
    .memory_changed = memory_changed,
    .files_keep_as = files_keep_as,
    .fork_prepare = shadow_kept_fork_begins,
    .fork_parent = shadow_kept_fork_ends,
    .forget = forget,
    .program_ends_as = shadow_program_ends_as,
    .program_goes_on_as = shadow_program_goes_on_as,
};
