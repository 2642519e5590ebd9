/* The carrier `auto` is composed of two: shadows where they are affordable, else bursts in place. Each
 * process decides, again and again (sigsafe/shadow_place.h). */
#include "runtime/carrier/burst.h"
#include "runtime/carrier/carrier.h"
#include "runtime/carrier/shadow.h"

static bool sample_as(struct rt_thread *t, const struct unwind_regs *regs,
                      struct trigger_charge charge)
{
    const struct carrier *of = shadow_in_place_as() ? &carrier_burst : &carrier_shadow;
    return of->sample_as(t, regs, charge);
}

static void take_as(struct rt_thread *t, ucontext_t *u, uint64_t ticks)
{
    if (!shadow_take_as(t, u))
        burst_take_as(t, u, ticks);
}

static bool trap_as(const siginfo_t *info, ucontext_t *u)
{
    return carrier_burst.trap_as(info, u);
}

static bool fault_as(int signal, siginfo_t *info, ucontext_t *u)
{
    return carrier_burst.fault_as(signal, info, u);
}

const struct carrier carrier_auto = {
    .sample_as = sample_as,
    .take_as = take_as,
    .trap_as = trap_as,
    .fault_as = fault_as,
};
