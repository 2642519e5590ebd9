#include "runtime/trigger/sync.h"

#include <signal.h>

#include "runtime/path/sample.h"
#include "runtime/sandbox.h"
#include "runtime/self.h"
#include "runtime/thread.h"
#include "runtime/trigger/internal.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/sys.h"

_Thread_local struct sync_local sync_local __attribute__((tls_model("initial-exec")));
const struct sync_family *sync_family;

enum { BULK = 64, BUDGET_SAMPLES = 64, MULTIPLE_MAX = 1 << 20 };

static int64_t draw(struct rt_thread *t)
{
    uint64_t mean = rt.config->period * t->multiple;
    if (!rt.config->randomize || mean < 2)
        return (int64_t)mean;
    return (int64_t)(mean / 2 + clock_random_as(t) % (mean + 1));
}

/* The first threshold is anywhere within one: so each unit is as likely as any other to be met. Without
 * randomization it is figure 2's, one whole period away. */
void sync_arm_as(struct rt_thread *t)
{
    uint64_t mean = rt.config->period;
    t->window_cpu_ns = thread_cpu_ns_as();
    t->window_cost_ticks = t->record->cost_ticks;
    t->group_left = BUDGET_SAMPLES;
    sync_local.met = true;
    sync_local.worth = 1;
    sync_local.left = (int64_t)(rt.config->randomize ? 1 + clock_random_as(t) % mean : mean);
}

/* Periods that the units used up stand for, and the way to the next threshold. Of an event of very many
 * thresholds only the last ones are drawn: the others have their mean. */
static uint64_t periods_passed(struct rt_thread *t)
{
    uint64_t periods = 0;
    int64_t mean = (int64_t)(rt.config->period * t->multiple);
    int64_t over = -sync_local.left;
    if (over / mean > BULK) {
        uint64_t passed = (uint64_t)(over / mean) - BULK / 2;
        sync_local.left += (int64_t)passed * mean;
        periods = passed * t->multiple;
    }
    while (sync_local.left <= 0) {
        periods += sync_local.worth;
        sync_local.left += draw(t);
        sync_local.worth = t->multiple;
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
    if (hold->masked)
        sys_call6_as(SYS_rt_sigprocmask, SIG_SETMASK, (long)&hold->mask, 0, sizeof hold->mask, 0, 0);
}

/* A thread that we do not know (made by a raw clone, or before we began), or the child of a vfork, that
 * runs with its parent's thread-local storage. */
static uint64_t stranger(void)
{
    int64_t period = (int64_t)rt.config->period;
    if (!sync_local.met) /* its first event: it began with nothing used up */
        sync_local.left += period;
    sync_local.met = true;
    if (sync_local.left > 0)
        return 0;
    uint64_t passed = (uint64_t)(-sync_local.left / period) + 1;
    sync_local.left += (int64_t)passed * period;
    __atomic_fetch_add(&rt.process->drops[DROP_FOREIGN], passed, __ATOMIC_RELAXED);
    return 0;
}

uint64_t sync_enter(struct sync_hold *hold)
{
    struct rt_thread *t = self_get();
    if (!rt_running_as()) {
        sync_local.left = rt.config ? INT64_MAX : 0;
        return 0;
    }
    if (!t || (!rt_quiet_as() && t->tid != (int32_t)sys_call3_as(SYS_gettid, 0, 0, 0)))
        return stranger();
    uint64_t weight = periods_passed(t);
    if (t->filter.silenced) /* it may not even read the time stamp counter */
        return 0;
    if (t->busy) {
        t->record->drops[DROP_NESTED] += weight;
        return 0;
    }
    hold->ticks = t->last_ticks = sys_ticks_as();
    hold->thread = t;
    hold->inside = sandbox_in_as(t);
    sync_mask(hold);
    t->busy = 1;
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

/* The runtime's own frames are walked through, but not shown (unwind_image.hidden): the path ends in
 * the caller of the interposed function. */
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
    return spool_at(&rt.spool, t->counted, sizeof(struct cct_node));
}

/* As the sampling clock does (clock.c): the thresholds double while the samples cost more than the limit
 * allows, and each then counts twice. */
static void budget_look(struct rt_thread *t)
{
    uint64_t cpu = thread_cpu_note_as(t), spent = cpu - t->window_cpu_ns;
    uint64_t allowed = spent / 1000u * rt.config->bound_ppm / 1000u, ours = account_bound_as(t, spent);
    t->window_cpu_ns = cpu;
    t->window_cost_ticks = t->record->cost_ticks;
    if (ours > allowed && t->multiple < MULTIPLE_MAX)
        t->multiple *= 2;
    else if (ours < allowed / 20 * 9 && t->multiple > 1)
        t->multiple /= 2;
    if (t->multiple > 1 && t->multiple > t->record->stretched)
        t->record->stretched = t->multiple;
}

void sync_leave(struct sync_hold *hold)
{
    struct rt_thread *t = hold->thread;
    if (rt.config->bound_ppm && !rt_quiet_as() && --t->group_left == 0) {
        t->group_left = BUDGET_SAMPLES;
        budget_look(t);
        thread_name_as(t);
    }
    account_call_as(t, hold->ticks);
    t->busy = 0;
    sync_unmask(hold);
    sandbox_out_as(t, hold->inside);
}

void sync_take(void)
{
    struct sync_hold hold;
    uint64_t weight = sync_enter(&hold);
    if (!weight)
        return;
    sync_sample(&hold, weight);
    sync_leave(&hold);
}
