#include "runtime/carrier/burst/burst.h"

#include "engine/engine.h"
#include "engine/probe.h"
#include "engine/recover.h"
#include "runtime/carrier/burst/burst_code.h"
#include "runtime/carrier/burst/burst_draw.h"
#include "runtime/carrier/burst/burst_native.h"
#include "runtime/carrier/burst/burst_watch.h"
#include "runtime/carrier/carrier.h"
#include "runtime/trampoline/forbidden.h"
#include "runtime/path/sample.h"
#include "runtime/carrier/native_frame.h"
#include "runtime/carrier/translated.h"
#include "guest/images.h"
#include "runtime/interpose/faults.h"
#include "runtime/kept_files.h"
#include "runtime/thread.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/bytes.h"
#include "sigsafe/spool_counts.h"
#include "sigsafe/sys.h"
#include "tools/tools.h"

#define TRAP_BIT (UINT64_C(1) << (SIGTRAP - 1))

static struct burst {
    struct engine *engine;       /* atomic; NULL: not made */
    struct spool_counts *counts; /* set before it */
    uint32_t making;             /* atomic: somebody makes it, or it could not be made */
    uint32_t natives;            /* atomic: threads that execute an instruction natively */
} burst;
static const struct burst_settings *settings;
static bool in_context, late; /* what the tools ask for: TOOL_CONTEXT; tools_late */
static uint32_t off; /* atomic enum stop_reason + 1: no bursts any more, nor in forked children */

static void count_stop(enum stop_reason why)
{
    __atomic_fetch_add(&burst.counts->stopped[why], 1, __ATOMIC_RELAXED);
}

static void turn_off(enum stop_reason why)
{
    __atomic_store_n(&off, (uint32_t)why + 1, __ATOMIC_RELAXED);
}

/* A copy of a restartable sequence would not be one. The kernel aborts a sequence before it calls a
 * handler, and leaves its address where it is: it says that the program uses them. */
static bool uses_rseq(void)
{
    enum { AT_RSEQ_CS = 1 };
    const uint64_t *area = translated_rseq_area_as();
    return area && area[AT_RSEQ_CS];
}

/* The far end of the engine's stack: the dispatcher does not come near it. */
static struct native_frame *frame_of(const struct engine_thread *e)
{
    return (struct native_frame *)(uintptr_t)(e->stack_top - ENGINE_T_STACK_SIZE);
}

/* ---- ends ---- */

static uint64_t interval_least(void)
{
    return (uint64_t)(settings->every ? settings->every : 1) * BURST_PARTS;
}

/* A burst that is all cost took so long: are there to be more of them, or fewer? */
static void share_look(struct rt_burst *b, uint64_t ns)
{
    b->window_ns += ns;
    if (!settings->ppm || ++b->window_bursts < BURST_WINDOW)
        return;
    uint64_t cpu = thread_cpu_ns_as();
    b->interval = burst_interval(b->interval, interval_least(), b->window_ns,
                                 cpu - b->window_cpu_ns, settings->ppm);
    b->window_cpu_ns = cpu;
    b->window_ns = b->window_bursts = 0;
}

/* not_run: instructions that the budget was counted down by, but that were not executed. */
static void burst_count(struct rt_thread *t, enum stop_reason why, int64_t not_run)
{
    struct spool_counts *c = burst.counts;
    struct rt_burst *b = &t->carrier.burst;
    struct engine_thread *e = b->engine;
    uint64_t ran = b->length - (uint64_t)e->budget + e->observed - (uint64_t)not_run;
    tool_set_burst_end_as(e);
    count_stop(why);
    if (translated_is_refusal(why))
        translated_refused_as(c, e);
    uint64_t translated = e->translated - b->translated;
    b->credit = burst_credit(b->credit, b->reach, translated, !e->observed);
    translated_figures_as(c, e);
    __atomic_fetch_add(&c->bursts, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&c->burst_instructions, ran, __ATOMIC_RELAXED);
    uint64_t now = sys_ticks_as();
    __atomic_fetch_add(&c->burst_ticks, now - b->begun, __ATOMIC_RELAXED);
    engine_latency_as(e->engine, translated ? LATENCY_BURST_COLD : LATENCY_BURST_WARM,
                      now - b->begun);
    if (in_context || settings->beside_shadows)
        share_look(b, trigger_burst_as(t, now - b->counted_from));
    b->active = false;
}

static uint64_t signals_block(void)
{
    uint64_t all = UINT64_MAX, before = 0;
    sys_call6_as(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, sizeof all, 0, 0);
    return before;
}

static void signals_restore(uint64_t mask)
{
    sys_call6_as(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof mask, 0, 0);
}

/* A signal for faults that somebody has sent waits for the end of the burst; not in the kernel,
 * where it would have to be blocked: a fault with a blocked signal ends the process. */
static void sent_hold(struct rt_sent *s, const siginfo_t *info)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (s->signals[i].si_signo == info->si_signo)
            return;
    const uint64_t *from = (const uint64_t *)(const void *)info;
    uint64_t *to = (uint64_t *)(void *)&s->signals[s->count++];
    for (unsigned i = 0; i < sizeof *info / sizeof *to; i++)
        to[i] = from[i];
}

/* They come when the mask is the program's again. */
static void sent_release(struct rt_sent *s)
{
    if (!s->count)
        return;
    signals_block();
    for (uint32_t i = 0; i < s->count; i++)
        faults_requeue_as(s->signals[i].si_signo, &s->signals[i]);
    s->count = 0;
}

static _Noreturn void leave_as(struct engine_thread *e, enum stop_reason why, int64_t not_run)
{
    engine_registers_put(e, native_frame_context(frame_of(e))->uc_mcontext.gregs);
    if (uses_rseq()) /* begun in this burst: no other one will meet it */
        turn_off(STOP_RSEQ);
    engine_flush_as(e, true);
    struct rt_thread *t = e->carrier;
    burst_count(t, why, not_run);
    engine_release_as(e);
    sent_release(&t->carrier.sent);
    native_frame_enter_as(frame_of(e));
}

static enum engine_action system_call_as(struct engine_thread *e)
{
    enum { SYSCALL_BYTES = 2 };
    e->rip -= SYSCALL_BYTES;
    leave_as(e, STOP_SYSTEM_CALL, 1);
}

/* ---- one instruction natively ---- */

static uint64_t *mask_of(ucontext_t *u)
{
    return (uint64_t *)(void *)&u->uc_sigmask;
}

/* Only where SIGTRAP is ours for certain. */
static bool may_step_as(struct engine_thread *e, enum stop_reason why)
{
    const struct rt_thread *t = e->carrier;
    return guest.process->mechanism == MECHANISM_PERF && !rt_quiet_as() &&
           !(t->carrier.burst.mask & TRAP_BIT) && burst_native_may_as(e, why);
}

/* Behind the budget the tool observes, and counts. */
static void count_native(struct engine_thread *e, int64_t count)
{
    if (e->wanted && e->budget <= 0)
        e->observed += (uint64_t)count;
    else
        e->budget -= count;
}

/* The instruction counts as executed, though no tool sees it. */
static _Noreturn void step_as(struct engine_thread *e)
{
    struct rt_thread *t = e->carrier;
    ucontext_t *u = native_frame_context(frame_of(e));
    __atomic_fetch_add(&burst.counts->alone, 1, __ATOMIC_RELAXED);
    translated_refused_as(burst.counts, e);
    count_native(e, 1);
    engine_registers_put(e, u->uc_mcontext.gregs);
    u->uc_mcontext.gregs[REG_EFL] |= EFLAGS_TF;
    *mask_of(u) = (t->carrier.burst.mask | ~faults_set()) & ~TRAP_BIT;
    t->carrier.burst.native = true;
    __atomic_fetch_add(&burst.natives, 1, __ATOMIC_RELAXED);
    engine_release_as(e);
    native_frame_enter_as(frame_of(e));
}

/* The calling thread, if it executes such an instruction. */
static struct rt_thread *stepping_as(void)
{
    if (!__atomic_load_n(&burst.natives, __ATOMIC_RELAXED) || rt_quiet_as())
        return NULL;
    struct rt_thread *t = thread_find_as((int32_t)sys_call3_as(SYS_gettid, 0, 0, 0));
    return t && t->carrier.burst.native ? t : NULL;
}

static void native_over_as(struct rt_thread *t, ucontext_t *u)
{
    t->carrier.burst.native = false;
    __atomic_fetch_sub(&burst.natives, 1, __ATOMIC_RELAXED);
    *mask_of(native_frame_context(frame_of(t->carrier.burst.engine))) = t->carrier.burst.mask;
    u->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)EFLAGS_TF;
}

/* The burst ends in the context of a signal, natively. */
static void end_native_as(struct rt_thread *t, ucontext_t *u, enum stop_reason why)
{
    native_over_as(t, u);
    engine_registers_take(t->carrier.burst.engine, u->uc_mcontext.gregs);
    engine_flush_as(t->carrier.burst.engine, true);
    burst_count(t, why, 0);
    *mask_of(u) = t->carrier.burst.mask;
    sent_release(&t->carrier.sent);
}

bool burst_trap_as(const siginfo_t *info, ucontext_t *u)
{
    struct rt_thread *t = stepping_as();
    bool traced = info->si_code == CODE_TRAP_TRACE;
    if (!t)
        return false;
    if (!traced || (u->uc_mcontext.gregs[REG_CSGSFS] & 0xffff) != USER_CS || !rt_running_as()) {
        end_native_as(t, u, traced ? STOP_FAR_TRANSFER : STOP_SIGNAL);
        return traced;
    }
    native_over_as(t, u);
    *mask_of(u) = t->carrier.burst.mask | ~faults_set();
    engine_redirect_as(t->carrier.burst.engine, u->uc_mcontext.gregs);
    return true;
}

static enum engine_action stopped_as(struct engine_thread *e, enum stop_reason why)
{
    if (may_step_as(e, why)) {
        if (e->budget > 0 || e->observed < e->wanted)
            step_as(e);
        why = STOP_BUDGET;
    }
    leave_as(e, why, 0);
}

static uint64_t caller_as(struct engine_thread *e, uint64_t pc)
{
    return translated_caller_as(e->carrier, e, pc);
}

/* What nobody watches is trusted by nobody. */
static struct trust_range trust_as(void *data, uint64_t address)
{
    struct trust_range range = burst_code_trust_as(data, address);
    if (range.trust == TRUST_FIXED && !burst_watch_whole_as())
        range.trust = TRUST_CHECKED;
    return range;
}

static const struct engine_carrier carrier = {
    .caller = caller_as,
    .trust = trust_as,
    .system_call = system_call_as,
    .stopped = stopped_as,
    .key = translated_key_as,
    .own_begin = __ehdr_start,
    .own_end = _end,
};

/* ---- what changes ---- */

/* The engine's lock is taken with signals blocked: a burst of the same thread would wait for it. */
static void gone(uint64_t lo, uint64_t hi)
{
    uint64_t mask = signals_block();
    engine_invalidate_as(burst.engine, lo, hi);
    signals_restore(mask);
}

/* ---- beginning ---- */

/* Makes the process's engine, once. */
static void engine_make_once_as(void)
{
    enum stop_reason why;
    if (__atomic_exchange_n(&burst.making, 1, __ATOMIC_ACQUIRE))
        return;
    burst.counts = translated_counts_as();
    struct engine_config config;
    bytes_clear_as(&config, sizeof config);
    config.carrier = &carrier;
    config.spool = &guest.spool;
    config.counts = burst.counts;
    config.budget = true;
    config.late = late;
    tools_set(rt.config->tools, &config.tools);
    struct engine *e = burst.counts ? engine_make_as(&config, &why) : NULL;
    if (e)
        __atomic_store_n(&burst.engine, e, __ATOMIC_RELEASE);
    else if (burst.counts)
        count_stop(why);
}

static struct engine_thread *engine_thread_of_as(struct rt_thread *t)
{
    struct rt_burst *b = &t->carrier.burst;
    if (b->engine || b->refused)
        return b->engine;
    uint64_t begun_cpu_ns = thread_cpu_ns_as();
    if (!__atomic_load_n(&burst.engine, __ATOMIC_ACQUIRE))
        engine_make_once_as();
    struct engine *e = __atomic_load_n(&burst.engine, __ATOMIC_ACQUIRE);
    if (!e)
        return NULL;
    if (forbidden_shadow_stack_as())
        turn_off(STOP_SHADOW_STACK);
    b->engine = engine_thread_make_as(e, t->tid);
    b->refused = !b->engine;
    if (b->engine)
        b->engine->carrier = t;
    trigger_took_as(t, thread_cpu_ns_as() - begun_cpu_ns);
    return b->engine;
}

/* Whether the next instruction, which is in an image and so can be read, moves or fills so many
 * elements that all signals would wait for long: natively they interrupt it. Only these repeat as
 * often as rcx says. */
static bool string_is_long(const greg_t *r)
{
    enum { LONG = 1 << 16, PREFIXES = 14 };
    const uint8_t *code = (const uint8_t *)r[REG_RIP];
    bool repeats = false;
    if ((uint64_t)r[REG_RCX] <= LONG)
        return false;
    for (unsigned i = 0; i < PREFIXES; i++)
        switch (code[i]) {
        case 0xf2:
        case 0xf3:
            repeats = true;
            break;
        case 0x26: case 0x2e: case 0x36: case 0x3e: case 0x64: case 0x65: case 0x66: case 0x67:
            break;
        case 0xa4: case 0xa5: /* movs */
        case 0xaa: case 0xab: /* stos */
        case 0xac: case 0xad: /* lods */
            return repeats;
        default:
            if ((code[i] & 0xf0) != 0x40) /* REX */
                return false;
        }
    return false;
}

/* A signal that the program does not block comes when the trigger's handler returns, before the
 * program goes on: who raises one counts on that. A burst would have it wait. */
static bool signal_is_next_as(const ucontext_t *u)
{
    uint64_t pending = 0;
    sys_call6_as(SYS_rt_sigpending, (long)&pending, sizeof pending, 0, 0, 0, 0);
    return pending & ~*(const uint64_t *)(const void *)&u->uc_sigmask;
}

/* STOP_COUNT: none. */
static enum stop_reason refusal_as(const struct engine_thread *e, const ucontext_t *u)
{
    uint32_t is_off = __atomic_load_n(&off, __ATOMIC_RELAXED);
    if (is_off)
        return (enum stop_reason)(is_off - 1);
    if (engine_gs_as(e->engine))
        return STOP_GS;
    if (uses_rseq()) {
        turn_off(STOP_RSEQ);
        return STOP_RSEQ;
    }
    if (!faults_held_as()) {
        turn_off(STOP_HANDLER);
        return STOP_HANDLER;
    }
    const struct unwind_image *image =
        unwind_index_find_as(images_current_as(), (uint64_t)u->uc_mcontext.gregs[REG_RIP]);
    if (image && image->hidden)
        return STOP_OWN_CODE;
    if (image && string_is_long(u->uc_mcontext.gregs))
        return STOP_LONG_STRING;
    if (signal_is_next_as(u))
        return STOP_SIGNAL;
    return u->uc_mcontext.gregs[REG_EFL] & EFLAGS_TF ? STOP_UNSUPPORTED : STOP_COUNT;
}

static uint64_t *random_of(struct rt_thread *t)
{
    struct rt_burst *b = &t->carrier.burst;
    if (!b->random)
        b->random = sys_ticks_as() | 1;
    return &b->random;
}

static uint64_t length_draw(struct rt_thread *t)
{
    uint64_t least = settings->length_least, most = settings->length;
    return !least || least >= most ? most : least + burst_draw(random_of(t), most - least);
}

/* One of so many triggers begins a burst, or fewer. */
static bool is_turn(struct rt_thread *t)
{
    struct rt_burst *b = &t->carrier.burst;
    if (!b->interval) {
        b->interval = interval_least();
        b->window_cpu_ns = thread_cpu_ns_as();
    }
    b->waited += BURST_PARTS;
    if (b->waited < b->interval)
        return false;
    b->waited -= b->interval;
    return true;
}

/* Where a frame for a fault would destroy the alternate stack that the program runs on. */
static void alternate_stack_note(struct engine_thread *e, const ucontext_t *u)
{
    uint64_t lo = (uint64_t)u->uc_stack.ss_sp, size = u->uc_stack.ss_size;
    bool on = !(u->uc_stack.ss_flags & SS_DISABLE) &&
              (uint64_t)u->uc_mcontext.gregs[REG_RSP] - lo < size;
    e->alt_lo = on ? lo : 0;
    e->alt_size = on ? size : 0;
    e->mask_changed = 0;
}

void burst_take_as(struct rt_thread *t, ucontext_t *u, uint64_t ticks)
{
    struct rt_burst *b = &t->carrier.burst;
    if (rt_quiet_as() || b->native || !is_turn(t))
        return;
    struct engine_thread *e = engine_thread_of_as(t);
    uint64_t began = sys_ticks_as();
    if (!e) {
        if (burst.counts)
            count_stop(STOP_NO_MEMORY);
        return;
    }
    enum stop_reason why = refusal_as(e, u);
    if (why == STOP_COUNT && !burst_watch_look_as(gone))
        why = STOP_BUSY;
    if (why == STOP_COUNT && !native_frame_prepare_as(frame_of(e), u))
        why = STOP_UNSUPPORTED;
    if (why != STOP_COUNT) {
        count_stop(why);
        return;
    }
    alternate_stack_note(e, u);
    b->mask = *mask_of(u);
    b->begun = ticks;
    b->counted_from = began;
    b->translated = e->translated;
    b->length = length_draw(t);
    b->active = true;
    if (late) {
        b->reach = burst_reach(b->credit, settings->skip);
        uint32_t skip = burst_skip(random_of(t), b->reach);
        tool_set_burst_begin_as(e, skip, b->length);
        e->wanted = b->length;
        b->length = skip; /* of code without hooks */
    }
    e->budget = (int64_t)b->length;
    e->observed = 0;
    *mask_of(u) |= ~faults_set();
    engine_redirect_as(e, u->uc_mcontext.gregs);
}

/* ---- faults ---- */

static struct rt_thread *thread_in_burst(uint64_t gs)
{
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < used; i++) {
        struct rt_thread *t = __atomic_load_n(&rt.slots[i], __ATOMIC_ACQUIRE);
        if (t && (uint64_t)t->carrier.burst.engine == gs)
            return t->carrier.burst.active ? t : NULL;
    }
    return NULL;
}

bool burst_fault_as(int signal, siginfo_t *info, ucontext_t *u)
{
    struct engine *engine = __atomic_load_n(&burst.engine, __ATOMIC_ACQUIRE);
    uint64_t gs = engine ? engine_gs_as(engine) : 0;
    struct rt_thread *t = gs ? thread_in_burst(gs) : NULL;
    struct rt_thread *stepping = t ? NULL : stepping_as();
    if (!t && !stepping)
        return false;
    if (info->si_code <= 0) {
        sent_hold(t ? &t->carrier.sent : &stepping->carrier.sent, info);
        return true;
    }
    if (stepping) { /* the instruction faults again when the handler returns */
        count_native(stepping->carrier.burst.engine, -1);
        end_native_as(stepping, u, STOP_FAULT);
        return true;
    }
    if (engine_probe_fault_as(u->uc_mcontext.gregs))
        return true;
    struct engine_progress progress = {0, 0};
    engine_progress_as(t->carrier.burst.engine, u->uc_mcontext.gregs, &progress);
    enum engine_place place = engine_recover_as(t->carrier.burst.engine, u->uc_mcontext.gregs);
    if (place != PLACE_BOUNDARY && place != PLACE_CORE) {
        faults_default_as(signal); /* our own fault: the program cannot go on */
        return true;
    }
    engine_flush_as(t->carrier.burst.engine, true);
    t->carrier.burst.engine->rip = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
    burst_count(t, STOP_FAULT, (int64_t)progress.total - (int64_t)progress.done);
    *mask_of(u) = t->carrier.burst.mask;
    engine_release_as(t->carrier.burst.engine);
    sent_release(&t->carrier.sent);
    return true;
}

void burst_thread_end_as(struct rt_thread *t)
{
    if (!t->carrier.burst.engine)
        return;
    uint64_t mask = signals_block();
    struct engine_thread *e = t->carrier.burst.engine;
    t->carrier.burst.engine = NULL;
    engine_thread_free_as(e);
    signals_restore(mask);
}

bool burst_is_active_as(const struct rt_thread *t)
{
    return __atomic_load_n(&t->carrier.burst.active, __ATOMIC_RELAXED);
}

void burst_images_changed(void)
{
    if (__atomic_load_n(&burst.engine, __ATOMIC_ACQUIRE))
        burst_code_gone(gone);
}

void burst_memory_changed(uint64_t lo, uint64_t hi)
{
    if (__atomic_load_n(&burst.engine, __ATOMIC_ACQUIRE) && !rt_quiet_as())
        burst_code_written(lo, hi, gone);
}

bool burst_look_as(void)
{
    return burst_watch_look_as(gone);
}

void burst_shadow_begins_as(void)
{
    __atomic_store_n(&burst.engine, NULL, __ATOMIC_RELAXED);
}

void burst_forget(void)
{
    struct engine *e = burst.engine;
    burst = (struct burst){0};
    burst_watch_fork_child();
    for (uint32_t i = 0; i < rt.slots_used; i++)
        if (rt.slots[i])
            rt.slots[i]->carrier.burst = (struct rt_burst){0};
    if (e)
        engine_free_as(e);
}

/* ---- the table ---- */

/* Short bursts that observe values belong to a call path, which is counted too: what is invariant
 * matters where time is spent. */
static bool sample_as(struct rt_thread *t, const struct unwind_regs *regs,
                      struct trigger_charge charge)
{
    if (!in_context)
        return translated_due_as(t, charge);
    uint64_t taken = t->record->taken;
    sample_take_as(t, regs, charge);
    return t->record->taken != taken;
}

static void state_begin_as(struct rt_thread *t)
{
    t->carrier.burst = (struct rt_burst){0};
    burst_watch_thread_as(t);
}

static void memory_changed(uint64_t lo, uint64_t hi, enum memory_change how)
{
    (void)how;
    burst_memory_changed(lo, hi);
}

static void files_keep_as(void)
{
    kept_open_as(KEPT_MAPS);
}

static bool settings_take(const struct spool *spool)
{
    in_context = tools_flags_any(rt.config->tools) & TOOL_CONTEXT;
    late = tools_late(rt.config->tools);
    return (settings = settings_burst_as(spool)) != NULL;
}

const struct carrier carrier_burst = {
    .translates = true,
    .system_calls = &translated_calls,
    .settings_take = settings_take,
    .sample_as = sample_as,
    .take_as = burst_take_as,
    .trap_as = burst_trap_as,
    .fault_as = burst_fault_as,
    .thread_begin_as = state_begin_as,
    .thread_end_as = burst_thread_end_as,
    .is_active_as = burst_is_active_as,
    .images_changed = burst_images_changed,
    .memory_changed = memory_changed,
    .files_keep_as = files_keep_as,
    .forget = burst_forget,
};
