#include "runtime/trigger/delivery.h"

#include <ucontext.h>

#include "runtime/attach.h"
#include "runtime/carrier/carrier.h"
#include "runtime/trigger/interrupted.h"
#include "runtime/interpose/alternate.h"
#include "runtime/interpose/signals.h"
#include "runtime/interpose/signals_mask.h"
#include "runtime/sandbox.h"
#include "runtime/thread.h"
#include "runtime/traced.h"
#include "runtime/trigger/trigger.h"
#include "runtime/trigger/turn.h"
#include "sigsafe/sample_path.h"
#include "sigsafe/sys.h"

/* siginfo of a perf event's SIGTRAP (asm-generic/siginfo.h, _sigfault._perf): after the signal,
 * errno and code come the address, then data and, after its type, the flags. */
enum { CODE_TRAP_PERF = 6, CODE_TIMER = -2, PERF_FLAG_ASYNC = 1 };
struct perf_siginfo {
    int32_t signo, error, code, padding;
    uint64_t address;
    uint64_t data;
    uint32_t type;
    uint32_t flags;
};

/* Stack that a sample needs at most, with the interpreter and an expression at the end of the walk;
 * and that of one which is only counted. */
enum { STACK_WALK = 3584, STACK_LEAST = 1024 };

static void registers_read(struct unwind_regs *regs, const ucontext_t *u)
{
    static const uint8_t from[UNWIND_REGISTERS] = {
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
        REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
#pragma GCC unroll 17
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
        regs->r[i] = (uint64_t)u->uc_mcontext.gregs[from[i]];
}

/* What the calling thread has set before it was known. */
static void alternate_find(struct rt_thread *t)
{
    stack_t s;
    if (sys_call3_as(SYS_sigaltstack, 0, (long)&s, 0) == 0 && !(s.ss_flags & SS_DISABLE) &&
        thread_alternate_as(t, (uint64_t)s.ss_sp, (uint64_t)s.ss_sp + s.ss_size))
        signals_leave_alternate_as();
}

/* The inherited event ticked: a thread that nobody told us about gets a trigger of its own. Returns
 * the calling thread; NULL: it has no record. */
static struct rt_thread *thread_discover(ucontext_t *u)
{
    if (rt_quiet_as())
        return NULL;
    int32_t tid = (int32_t)sys_call3_as(SYS_gettid, 0, 0, 0);
    bool was_there = trigger_seek_tick_as(tid);
    attach_look_for_collector_as();
    thread_reap_as();
    struct rt_thread *t = thread_find_as(tid);
    if (t || !rt_running_as() || !trigger_allowed_as())
        return t;
    t = thread_make_as();
    if (!t)
        return NULL;
    thread_stack_as(t, NULL, 0);
    if (!thread_begin_as(t))
        return NULL;
    if (!alternate_adopt_as(t, u))
        alternate_find(t);
    if (!trigger_arm_as(t)) {
        thread_end_as(t);
        return NULL;
    }
    if (was_there)
        t->cpu_seen = t->clock.window_cpu_ns; /* what it used before is not ours to report */
    if (was_there && rt.config->trigger == TRIGGER_WALL)
        t->clock.base =
            guest.process->start_ns; /* it has waited since we came: its next sample says where */
    return t;
}

static void tick_take(ucontext_t *u, uint64_t ticks)
{
    uint64_t cpu_ns = rt_quiet_as() ? 0 : thread_cpu_ns_as();
    struct rt_thread *t = thread_discover(u);
    if (t)
        trigger_ticked_as(t, ticks, cpu_ns);
}

/* True if the signal is one of ours: then *value names the thread. */
static bool signal_ours(const siginfo_t *info, uint64_t *value, bool *late, uint64_t *overrun)
{
    const struct perf_siginfo *perf = (const struct perf_siginfo *)(const void *)info;
    *late = false;
    *overrun = 0;
    if (perf->code == CODE_TRAP_PERF) {
        *value = perf->data;
        *late = perf->flags & PERF_FLAG_ASYNC;
    } else if (perf->code == CODE_TIMER || perf->code == SI_QUEUE) {
        *value = (uint64_t)info->si_value.sival_ptr;
        *overrun = info->si_overrun > 0 ? (uint64_t)info->si_overrun : 0;
    } else {
        return false;
    }
    return *value >> 32 == rt.cookie;
}

bool handler_is_ours(const siginfo_t *info)
{
    uint64_t value, overrun;
    bool late;
    return signal_ours(info, &value, &late, &overrun);
}

/* Bytes of stack that are left below the kernel's frame, where the handler is not on a stack of
 * ours: of an alternate stack, whose end nothing guards, or of the thread's own, where a program
 * may be at the very end of what it is allowed (ruby touches all of it when it starts). Its bounds
 * are known but for what libc has put above the first frame. */
static uint64_t stack_left(const struct rt_thread *t, const ucontext_t *u)
{
    enum { ABOVE = 8192 };
    uint64_t here = (uint64_t)__builtin_frame_address(0), left = here - (uint64_t)u->uc_stack.ss_sp;
    if (t && alternate_holds_as(t, here))
        return UINT64_MAX;
    if (left < u->uc_stack.ss_size)
        return left;
    if (!t || here >= t->unwind.stack_hi || here + ABOVE < t->unwind.stack_lo)
        return UINT64_MAX;
    return here > t->unwind.stack_lo + ABOVE ? here - t->unwind.stack_lo - ABOVE : 0;
}

static bool same_place(const struct rt_thread *t, const struct unwind_regs *r)
{
    return r->r[UNWIND_RIP] == t->delivery.last_pc && r->r[UNWIND_RSP] == t->delivery.last_sp;
}

/* A sample of another trigger was taken as the period expired. It is the program's, which it has
 * gone through for the most part; but of single events the sample has made this one. */
static enum drop_reason waited_reason(const struct rt_thread *t)
{
    return trigger_is_time(t->clock.trigger) || t->clock.mean > 1 ? DROP_COUNT : DROP_NESTED;
}

/* Whether a signal that had been blocked is a sample, or why not. If it comes where the last sample
 * was, and right after it, our own handler had blocked it, and the period may still be the
 * program's: it expired in the kernel after the last one. Elapsed time was spent there in any case:
 * the thread was preempted in our handler, and the program's code did not go on. libc blocks it in
 * the function that unblocks it: it belongs there. Where we are attached the program may have
 * blocked it so, for any time. */
static enum drop_reason late_reason(const struct rt_thread *t, const struct unwind_regs *r,
                                    uint64_t ticks)
{
    if (t->delivery.unmasking || (same_place(t, r) && turn_was_since_as(t)))
        return waited_reason(t);
    if (same_place(t, r) && t->clock.trigger == TRIGGER_WALL)
        return DROP_COUNT;
    if (same_place(t, r) && trigger_was_just_now_as(t, ticks))
        return trigger_was_short_as(t, ticks) ? DROP_COUNT : DROP_NESTED;
    return !rt.attached && signals_unblocked_by_libc_as(r->r[UNWIND_RIP]) ? DROP_COUNT : DROP_LATE;
}

/* A thread that is traced stops at each signal, and, with strace, where the handler returns. To the
 * wall trigger that is an event, whose signal comes before the program has executed anything: it
 * would be all that happens. One that came while the handler ran is one that had to wait; that
 * happens in a row, at one place, to hardly anybody else. */
static bool is_stopping(struct rt_thread *t, const struct unwind_regs *r, bool late)
{
    enum { LEAST = 8 };
    if (t->switch_fd < 0 || t->which)
        return false;
    if (!same_place(t, r)) {
        t->delivery.stops = 0;
        return false;
    }
    t->delivery.stops += late;
    return late && t->delivery.stops >= LEAST && !(t->delivery.stops & (t->delivery.stops - 1)) &&
           !rt_quiet_as() && traced_as();
}

static void samples_end(struct rt_thread *t)
{
    trigger_silence_as(t);
    if (!t->delivery.stopped)
        __atomic_fetch_add(&guest.process->unarmed, 1, __ATOMIC_RELAXED);
    t->delivery.stopped = true;
    if (!guest.process->arm_error)
        guest.process->arm_error = ARM_ERROR_STOPS;
}

/* One signal of ours. */
struct delivery {
    struct rt_thread *t; /* NULL: none is known */
    const siginfo_t *info;
    ucontext_t *context;
    uint64_t ticks, overrun;
    uint32_t slot;
    bool late;
};

/* The thread is busy meanwhile. True if the carrier is to take it. `left`: bytes of stack. */
static inline __attribute__((always_inline)) bool
sample(struct rt_thread *t, const struct delivery *d, uint64_t left)
{
    const ucontext_t *u = d->context;
    uint64_t ticks = d->ticks;
    bool late = d->late;
    struct unwind_regs regs;
    t->record->deliveries++;
    registers_read(&regs, u);
    if (late && same_place(t, &regs) && trigger_is_again_as(t, ticks)) {
        trigger_finish_as(t, ticks);
        return false;
    }
    /* at the end of a system call, in which its period may have expired long ago */
    if (regs.r[UNWIND_RCX] == regs.r[UNWIND_RIP])
        t->account.set = false;
    enum drop_reason drop = late ? late_reason(t, &regs, ticks) : DROP_COUNT;
    struct trigger_charge charge = trigger_charge_as(t, ticks, d->overrun);
    bool taken = false, stopping = left >= STACK_WALK && is_stopping(t, &regs, late);
    if (drop != DROP_COUNT) {
        t->record->drops[drop] += charge.weight;
    } else if (left < STACK_WALK) {
        t->record->drops[DROP_NO_STACK] += charge.weight;
    } else {
        taken = rt.carrier->sample_as(t, &regs, charge);
    }
    t->delivery.last_pc = regs.r[UNWIND_RIP];
    t->delivery.last_sp = regs.r[UNWIND_RSP];
    trigger_finish_as(t, ticks);
    if (stopping)
        samples_end(t);
    return taken;
}

/* False: it is busy already, in this very thread, or another one has it for a moment as the process
 * ends. */
static inline __attribute__((always_inline)) bool busy_begin(struct rt_thread *t)
{
    return !__atomic_exchange_n(&t->busy, 1, __ATOMIC_ACQUIRE);
}

static inline __attribute__((always_inline)) void busy_end(struct rt_thread *t)
{
    __atomic_store_n(&t->busy, 0, __ATOMIC_RELEASE);
}

/* True if the carrier is to take the interrupted context. `held`: the caller has made the thread
 * busy. Part of delivery_take: with one trigger there is no further call. */
static inline __attribute__((always_inline)) bool signal_take(const struct delivery *d, bool held)
{
    struct rt_thread *t = d->t;
    uint64_t left = 0;
    bool taken = false;
    if (!rt_running_as()) {
        if (t) {
            t->record->drops[DROP_STOPPED]++; /* a trampoline goes when it is returned through */
            if (!rt_quiet_as())
                trigger_pause_as(t);
        } else if (!rt_quiet_as()) {
            trigger_pause_discovery_as();
        }
    } else if ((left = stack_left(t, d->context)) < STACK_LEAST) {
        if (t)
            trigger_again_as(t);
        __atomic_fetch_add(t ? &t->record->drops[DROP_NO_STACK]
                             : &guest.process->drops[DROP_NO_STACK],
                           1, __ATOMIC_RELAXED);
    } else if (d->slot == RT_SLOT_DISCOVERY) {
        tick_take(d->context, d->ticks);
    } else if (!t) {
        __atomic_fetch_add(&guest.process->drops[DROP_FOREIGN], 1, __ATOMIC_RELAXED);
    } else if (!held && !busy_begin(t)) {
        if (!trigger_again_as(t))
            turn_record_as(t, 0)->drops[DROP_NESTED]++;
    } else {
        taken = sample(t, d, left);
        if (!held)
            busy_end(t);
    }
    return taken;
}

/* The carrier stops this thread. The one that it saw in futex(wait) may have been in another call
 * when the queued signal came. */
static void stop_signal(struct rt_thread *t, const siginfo_t *info, ucontext_t *u)
{
    if (!rt_quiet_as() && info->si_code == SI_QUEUE)
        interrupted_again_as(u);
    if (!rt_quiet_as())
        interrupted_repair_as(u);
    if (t && rt_running_as() && !rt_quiet_as() && stack_left(t, u) >= STACK_LEAST)
        CARRIER_TELL(stop_as, (t, u));
}

/* The signal of a trigger after the first, which counts until its sample is over: the thread is
 * busy all that time, or another thread that notes what this one has used would find the wrong
 * clock and record. */
static __attribute__((noinline)) void other_signal(struct rt_thread *t, const struct delivery *d)
{
    uint32_t which = (d->slot & RT_WHICH_MASK) >> RT_WHICH_SHIFT;
    struct spool_thread *record = t && which <= t->other_count ? turn_record_as(t, which) : NULL;
    if (t && !record)
        return;
    if (t && !busy_begin(t)) {
        record->drops[DROP_NESTED]++;
        return;
    }
    if (t)
        turn_to_as(t, which); /* there is a record */
    signal_take(d, true);
    if (t) {
        turn_to_as(t, 0);
        busy_end(t);
    }
    if (!rt_quiet_as())
        interrupted_repair_as(d->context);
}

SAMPLE_PATH
static void delivery_take(void *argument)
{
    const struct delivery *d = argument;
    struct rt_thread *t = d->t;
    uint32_t inside = sandbox_in_as(t);
    if (d->slot != RT_SLOT_DISCOVERY && d->slot & (STOP_SLOT | RT_WHICH_MASK)) {
        if (d->slot & STOP_SLOT)
            stop_signal(t, d->info, d->context);
        else
            other_signal(t, d);
        sandbox_out_as(t, inside);
        return;
    }
    bool due = signal_take(d, false);
    if (!rt_quiet_as())
        interrupted_repair_as(d->context);
    if (due)
        rt.carrier->take_as(t, d->context, d->ticks);
    sandbox_out_as(t, inside);
}

/* Where the kernel has not put the frame on our stack, it is the program's stack, which may end
 * here. */
SAMPLE_PATH
void handler_as(int signal, siginfo_t *info, void *context)
{
    uint64_t value;
    struct delivery d = {.info = info, .context = context};
    if (!rt_profiled_as() || !signal_ours(info, &value, &d.late, &d.overrun)) {
        if (!rt_profiled_as() || signal != SIGTRAP || !CARRIER_ASK(trap_as, (info, context)))
            signals_chain_as(signal, info, context);
        return; /* where reading the time stamp counter may fault */
    }
    if (signals_is_wake_as(value)) {
        if (signals_wake_as(info))
            signals_chain_as(signal, info, context);
        return;
    }
    d.ticks = sys_ticks_as();
    d.slot = (uint32_t)value;
    d.t = d.slot == RT_SLOT_DISCOVERY ? NULL : thread_at_as(d.slot & RT_SLOT_MASK);
    if (!d.t || alternate_holds_as(d.t, (uint64_t)&d))
        delivery_take(&d);
    else
        alternate_call_as(d.t, delivery_take, &d);
}
