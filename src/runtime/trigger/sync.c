#include "runtime/trigger/sync.h"

#include <signal.h>

#include "runtime/path/sample.h"
#include "runtime/sandbox.h"
#include "runtime/self.h"
#include "runtime/thread.h"
#include "runtime/trigger/internal.h"
#include "runtime/trigger/trigger.h"
#include "runtime/trigger/turn.h"
#include "sigsafe/sys.h"

_Thread_local struct sync_local sync_local __attribute__((tls_model("initial-exec")));

enum { FAMILIES = 3 };
static const struct sync_family *families[FAMILIES];
static uint32_t family_count;

enum { BULK = 64, BUDGET_SAMPLES = 64, MULTIPLE_MAX = 1 << 20 };

static struct sync_way *way_of(uint32_t trigger)
{
    return &sync_local.ways[trigger - TRIGGER_MALLOC];
}

static int64_t draw(struct rt_thread *t, const struct rt_clock *clock)
{
    uint64_t mean = clock->mean * clock->multiple;
    if (!rt.config->randomize || mean < 2)
        return (int64_t)mean;
    return (int64_t)(mean / 2 + clock_random_as(t) % (mean + 1));
}

/* The first threshold is anywhere within one: so each unit is as likely as any other to be met.
 * Without randomization it is figure 2's, one whole period away. */
void sync_arm_as(struct rt_thread *t)
{
    uint64_t mean = t->clock.mean;
    struct sync_way *way = way_of(t->clock.trigger);
    t->clock.window_cpu_ns = thread_cpu_ns_as();
    t->clock.window_cost_ticks = t->record->cost_ticks;
    t->clock.group_left = BUDGET_SAMPLES;
    way->met = true;
    way->worth = 1;
    way->left = (int64_t)(rt.config->randomize ? 1 + clock_random_as(t) % mean : mean);
}

/* Periods that the units used up stand for, and the way to the next threshold. Of an event of very
 * many thresholds only the last ones are drawn: the others have their mean. */
static uint64_t periods_passed(struct rt_thread *t, const struct rt_clock *clock,
                               struct sync_way *way)
{
    uint64_t periods = 0;
    int64_t mean = (int64_t)(clock->mean * clock->multiple);
    int64_t over = -way->left;
    if (over / mean > BULK) {
        uint64_t passed = (uint64_t)(over / mean) - BULK / 2;
        way->left += (int64_t)passed * mean;
        periods = passed * clock->multiple;
    }
    while (way->left <= 0) {
        periods += way->worth;
        way->left += draw(t, clock);
        way->worth = clock->multiple;
    }
    return periods;
}

void sync_mask(struct sync_hold *hold)
{
    uint64_t all = ~UINT64_C(0);
    hold->masked = !rt_quiet_as();
    if (hold->masked)
        sys_call6_as(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&hold->mask, sizeof all, 0,
                     0);
}

void sync_unmask(struct sync_hold *hold)
{
    struct rt_thread *t = self_get();
    if (!hold->masked)
        return;
    if (t)
        t->delivery.unmasking = true;
    sys_call6_as(SYS_rt_sigprocmask, SIG_SETMASK, (long)&hold->mask, 0, sizeof hold->mask, 0, 0);
    if (t)
        t->delivery.unmasking = false;
}

/* A thread that we do not know (made by a raw clone, or before we began), or the child of a vfork,
 * that runs with its parent's thread-local storage. */
static uint64_t stranger(struct sync_way *way, uint32_t which)
{
    int64_t period = (int64_t)spool_trigger_at(rt.config, which).period;
    uint64_t *foreign =
        which ? &guest.process->foreign[which - 1] : &guest.process->drops[DROP_FOREIGN];
    if (!way->met) /* its first event: it began with nothing used up */
        way->left += period;
    way->met = true;
    if (way->left > 0)
        return 0;
    uint64_t passed = (uint64_t)(-way->left / period) + 1;
    way->left += (int64_t)passed * period;
    __atomic_fetch_add(foreign, passed, __ATOMIC_RELAXED);
    return 0;
}

uint64_t sync_enter(struct sync_hold *hold, enum trigger_kind trigger)
{
    struct rt_thread *t = self_get();
    struct sync_way *way = way_of(trigger);
    uint32_t which = rt_running_as() ? spool_trigger_find(rt.config, trigger) : UINT32_MAX;
    if (which == UINT32_MAX) {
        way->left = rt.config ? INT64_MAX : 0;
        return 0;
    }
    if (!t || (!rt_quiet_as() && t->tid != (int32_t)sys_call3_as(SYS_gettid, 0, 0, 0)))
        return stranger(way, which);
    struct spool_thread *record = turn_record_as(t, which);
    if (!record) /* nor has its clock begun */
        return stranger(way, which);
    uint64_t weight = periods_passed(t, turn_clock_as(t, which), way);
    if (t->filter.silenced) /* it may not even read the time stamp counter */
        return 0;
    if (t->busy) {
        record->drops[DROP_NESTED] += weight;
        return 0;
    }
    hold->ticks = sys_ticks_as();
    hold->thread = t;
    hold->inside = sandbox_in_as(t);
    sync_mask(hold);
    t->busy = 1;
    hold->before = t->which;
    turn_to_as(t, which); /* there is a record */
    t->clock.last_ticks = hold->ticks;
    return weight;
}

static inline __attribute__((always_inline)) void registers_here(struct unwind_regs *regs)
{
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
        regs->r[i] = 0;
    __asm__ volatile("leaq 0f(%%rip), %%rax\n"
                     "0:\n\t"
                     "movq %%rax, %c1(%0)\n\t"
                     "movq %%rsp, %c2(%0)\n\t"
                     "movq %%rbp, %c3(%0)\n\t"
                     "movq %%rbx, %c4(%0)\n\t"
                     "movq %%r12, %c5(%0)\n\t"
                     "movq %%r13, %c6(%0)\n\t"
                     "movq %%r14, %c7(%0)\n\t"
                     "movq %%r15, %c8(%0)"
                     :
                     : "r"(regs->r), "i"(8 * UNWIND_RIP), "i"(8 * UNWIND_RSP), "i"(8 * UNWIND_RBP),
                       "i"(8 * UNWIND_RBX), "i"(8 * UNWIND_R12), "i"(8 * UNWIND_R13),
                       "i"(8 * UNWIND_R14), "i"(8 * UNWIND_R15)
                     : "rax", "memory");
}

/* The runtime's own frames are walked through, but not shown (unwind_image.hidden): the path ends
 * in the caller of the interposed function. */
struct cct_node *sync_sample(struct sync_hold *hold, uint64_t weight)
{
    struct rt_thread *t = hold->thread;
    struct unwind_regs regs;
    uint64_t taken = t->record->taken;
    const struct spool_thread *record = t->record;
    registers_here(&regs);
    sample_take_as(t, &regs, (struct trigger_charge){weight, 0});
    if (t->record == record && t->record->taken == taken)
        return NULL;
    return spool_at(&guest.spool, t->counted, sizeof(struct cct_node));
}

/* As the sampling clock does (clock.c): the thresholds double while the samples cost more than the
 * limit allows, and each then counts twice. */
static void budget_look(struct rt_thread *t)
{
    uint64_t cpu = thread_cpu_note_as(t), spent = cpu - t->clock.window_cpu_ns;
    uint64_t allowed = spent / 1000u * t->clock.bound_ppm / 1000u,
             ours = account_bound_as(t, spent);
    t->clock.window_cpu_ns = cpu;
    t->clock.window_cost_ticks = t->record->cost_ticks;
    if (ours > allowed && t->clock.multiple < MULTIPLE_MAX)
        t->clock.multiple *= 2;
    else if (ours < allowed / 20 * 9 && t->clock.multiple > 1)
        t->clock.multiple /= 2;
    if (t->clock.multiple > 1 && t->clock.multiple > t->record->stretched)
        t->record->stretched = t->clock.multiple;
}

void sync_leave(struct sync_hold *hold)
{
    struct rt_thread *t = hold->thread;
    if (t->clock.bound_ppm && !rt_quiet_as() && --t->clock.group_left == 0) {
        t->clock.group_left = BUDGET_SAMPLES;
        budget_look(t);
        thread_name_as(t);
    }
    account_call_as(t, hold->ticks);
    turn_to_as(t, hold->before);
    t->busy = 0;
    sync_unmask(hold);
    sandbox_out_as(t, hold->inside);
}

void sync_take(enum trigger_kind trigger)
{
    struct sync_hold hold;
    uint64_t weight = sync_enter(&hold, trigger);
    if (!weight)
        return;
    sync_sample(&hold, weight);
    sync_leave(&hold);
}

void sync_family_add(const struct sync_family *family)
{
    if (family_count < FAMILIES)
        families[family_count++] = family;
}

/* The next one that has something to do in this recording. */
static const struct sync_family *family_next(uint32_t *at)
{
    uint32_t wanted = 0;
    for (uint32_t which = 0; rt.config && which < spool_triggers(rt.config); which++)
        wanted |= 1u << spool_trigger_at(rt.config, which).trigger;
    while (*at < family_count) {
        const struct sync_family *family = families[(*at)++];
        if (!family->triggers || family->triggers & wanted)
            return family;
    }
    return NULL;
}

void sync_families_begin(void)
{
    const struct sync_family *family;
    for (uint32_t at = 0; (family = family_next(&at)) != NULL;)
        family->begin();
}

void sync_families_fork_child(void)
{
    const struct sync_family *family;
    for (uint32_t at = 0; (family = family_next(&at)) != NULL;)
        family->fork_child();
}

void sync_families_end(struct rt_thread *t)
{
    const struct sync_family *family;
    for (uint32_t at = 0; (family = family_next(&at)) != NULL;)
        family->end(t);
}

void sync_families_moved(const void *from, const void *to)
{
    const struct sync_family *family;
    for (uint32_t at = 0; (family = family_next(&at)) != NULL;)
        if (family->moved)
            family->moved(from, to);
}
