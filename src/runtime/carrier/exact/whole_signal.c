#include "runtime/carrier/exact/whole_signal.h"

#include <asm-generic/errno-base.h>
#include <stddef.h>

#include "engine/mappings.h"
#include "engine/state.h"
#include "engine/probe.h"
#include "runtime/carrier/exact/whole_internal.h"
#include "sigsafe/sys.h"

#define BIT(number) (UINT64_C(1) << ((number)-1))
#define FAULTS (BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGSYS))

enum {
    MASK_SIZE = 8,
    EFLAGS_TF = 1 << 8,
    EFLAGS_DF = 1 << 10,
    EFLAGS_RF = 1 << 16,
    EFLAGS_AC = 1 << 18,
    CODE_BUS_ALIGNMENT = 1,
    CODE_TRAP_TRACE = 2,
};

const uint64_t whole_asynchronous = ~FAULTS;

static bool is_handler(uint64_t handler)
{
    return handler != (uint64_t)SIG_DFL && handler != (uint64_t)SIG_IGN;
}

/* The handler is given the frame of an instruction that faulted. */
static bool shows_fault(int number, const struct whole_action *a)
{
    return is_handler(a->handler) && a->flags & SA_SIGINFO && BIT(number) & FAULTS;
}

static long action_as(int number, const struct whole_action *set, struct whole_action *old)
{
    return sys_call6_as(SYS_rt_sigaction, number, (long)set, (long)old, MASK_SIZE, 0, 0);
}

static uint64_t *mask_in(ucontext_t *u)
{
    return (uint64_t *)(void *)&u->uc_sigmask;
}

/* What the kernel is told instead of `a`. SIGTRAP is ours to reset. */
static struct whole_action replaced(int number, const struct whole_action *a)
{
    struct whole_action ours = *a;
    ours.handler = (uint64_t)whole_signal_entry;
    ours.flags |= SA_SIGINFO;
    if (number == SIGTRAP)
        ours.flags &= ~(uint64_t)SA_RESETHAND;
    return ours;
}

/* atomic: a thread has an alternate stack that cannot be written to. A frame there would end the
 * process by SIGSEGV, where nothing else of the program is to run on that stack. */
static bool trap_off_stack;

/* For a SIGTRAP that the program does not handle. The restorer is never run. */
static struct whole_action trap_action(void)
{
    bool off = __atomic_load_n(&trap_off_stack, __ATOMIC_RELAXED);
    return (struct whole_action){.handler = (uint64_t)whole_signal_entry,
                                 .flags = (uint64_t)(SA_SIGINFO | SA_RESTART | 0x04000000) |
                                          (off ? 0 : SA_ONSTACK),
                                 .restorer = (uint64_t)whole_signal_entry};
}

void whole_signals_take_as(void)
{
    for (int i = 1; i < WHOLE_SIGNALS; i++) {
        struct whole_action now = {0};
        if (action_as(i, NULL, &now) != 0)
            continue;
        if (is_handler(now.handler) || i == SIGTRAP)
            whole.actions.of[i] = now;
        if (shows_fault(i, &now))
            engine_faults_seen_as(whole.engine);
        struct whole_action ours = is_handler(now.handler) ? replaced(i, &now) : trap_action();
        if (is_handler(now.handler) || i == SIGTRAP)
            action_as(i, &ours, NULL);
    }
}

void whole_signals_retake_as(void)
{
    struct whole_action ours = trap_action();
    action_as(SIGTRAP, &ours, NULL);
}

void whole_signals_cleared_as(struct whole_actions *actions)
{
    struct whole_action *trap = &actions->of[SIGTRAP];
    *trap = (struct whole_action){.handler = is_handler(trap->handler) ? (uint64_t)SIG_DFL
                                                                       : trap->handler};
    whole_signals_retake_as();
}

uint64_t whole_block_as(void)
{
    uint64_t old = 0;
    sys_call6_as(SYS_rt_sigprocmask, SIG_BLOCK, (long)&whole_asynchronous, (long)&old, MASK_SIZE, 0,
                 0);
    return old;
}

void whole_mask_as(struct engine_thread *t, uint64_t mask)
{
    t->mask = mask;
    t->mask_changed = 1;
}

/* ---- system calls ---- */

/* What the kernel keeps of an action that is set. */
static struct whole_action as_kept(const struct whole_action *set)
{
    enum { KNOWN = 0x5c000807 }; /* UAPI_SA_FLAGS but SA_RESETHAND, the highest bit */
    struct whole_action kept = *set;
    kept.flags &= KNOWN | (uint64_t)(unsigned)SA_RESETHAND;
    kept.mask &= ~(BIT(SIGKILL) | BIT(SIGSTOP));
    return kept;
}

/* The kernel has reset the action when it delivered the signal, and has kept its flags. */
static bool is_reset(const struct whole_action *a, const struct whole_action *kernel)
{
    return kernel->handler == (uint64_t)SIG_DFL && is_handler(a->handler) &&
           a->flags & SA_RESETHAND && kernel->mask == a->mask &&
           kernel->flags == (a->flags | SA_SIGINFO);
}

/* The action as the program knows it, from what the kernel has. */
static struct whole_action known(const struct whole_action *a, int number,
                                 struct whole_action kernel)
{
    if (number == SIGTRAP)
        return *a;
    bool ours = kernel.handler == (uint64_t)whole_signal_entry;
    if ((ours || is_reset(a, &kernel)) && !(a->flags & SA_SIGINFO))
        kernel.flags &= ~(uint64_t)SA_SIGINFO;
    if (ours)
        kernel.handler = a->handler;
    return kernel;
}

static long action_change(struct whole_actions *actions, int number, const struct whole_action *set,
                          struct whole_action *old)
{
    struct whole_action before = actions->of[number], kernel = {0}, ours;
    whole_lock_as();
    if (set) {
        /* First the table: the signal may come at once. */
        if (is_handler(set->handler) || number == SIGTRAP)
            actions->of[number] = as_kept(set);
        ours = is_handler(set->handler) ? replaced(number, set)
               : number == SIGTRAP      ? trap_action()
                                        : *set;
    }
    long result = action_as(number, set ? &ours : NULL, &kernel);
    if (old)
        *old = known(&before, number, kernel);
    whole_unlock_as();
    return result;
}

long whole_sigaction_as(struct engine_thread *t)
{
    int number = (int)t->gpr[ENGINE_RDI];
    uint64_t set_at = t->gpr[ENGINE_RSI], old_at = t->gpr[ENGINE_RDX];
    struct whole_action set, old;
    if (number < 1 || number >= WHOLE_SIGNALS || number == SIGKILL || number == SIGSTOP ||
        t->gpr[ENGINE_R10] != MASK_SIZE)
        return sys_call6_as(SYS_rt_sigaction, number, (long)set_at, (long)old_at,
                            (long)t->gpr[ENGINE_R10], 0, 0);
    if (set_at && !whole_read_as(&set, set_at, sizeof set))
        return -EFAULT;
    if (set_at && shows_fault(number, &set))
        engine_faults_seen_as(t->engine);
    long result =
        action_change(whole_thread_as(t)->actions, number, set_at ? &set : NULL, &old);
    if (result == 0 && old_at && !whole_write_as(old_at, &old, sizeof old))
        return -EFAULT;
    return result;
}

/* Where the frame of a signal would lie. */
static bool alternate_is_there_as(const struct engine_thread *t)
{
    enum { TOP = 64, FRAME = 4096 };
    uint64_t hi = t->alt_lo + t->alt_size;
    engine_lock_as(t->engine);
    bool there = mappings_writable_as(hi - TOP) &&
                 (t->alt_size <= FRAME || mappings_writable_as(hi - FRAME));
    engine_unlock_as(t->engine);
    return there;
}

void whole_alternate_look_as(struct engine_thread *t, uint64_t lo, uint64_t hi)
{
    if (!t->alt_size || t->alt_lo >= hi || t->alt_lo + t->alt_size <= lo ||
        __atomic_load_n(&trap_off_stack, __ATOMIC_RELAXED) || alternate_is_there_as(t))
        return;
    __atomic_store_n(&trap_off_stack, true, __ATOMIC_RELAXED);
    whole_lock_as();
    if (!is_handler(whole_thread_as(t)->actions->of[SIGTRAP].handler))
        whole_signals_retake_as();
    whole_unlock_as();
}

static void alternate_set(struct engine_thread *t, const stack_t *stack)
{
    bool disabled = stack->ss_flags & SS_DISABLE;
    t->alt_lo = disabled ? 0 : (uint64_t)stack->ss_sp;
    t->alt_size = disabled ? 0 : stack->ss_size;
}

long whole_sigaltstack_as(struct engine_thread *t)
{
    stack_t stack;
    uint64_t set_at = t->gpr[ENGINE_RDI];
    bool known_set = set_at && whole_read_as(&stack, set_at, sizeof stack);
    /* The kernel refuses while the stack pointer is on the stack that would be changed. */
    long result = whole_syscall_at_as(t->gpr[ENGINE_RSP], SYS_sigaltstack, set_at,
                                      t->gpr[ENGINE_RSI], 0);
    /* it is set though there is no room for the old one */
    if ((result == 0 || result == -EFAULT) && known_set) {
        alternate_set(t, &stack);
        whole_alternate_look_as(t, 0, UINT64_MAX);
    }
    return result;
}

/* Of the frame, rt_sigreturn reads this much, and the vector state where it lies. */
enum { FRAME_SIZE = offsetof(ucontext_t, uc_sigmask) + MASK_SIZE };

void whole_sigreturn_as(struct engine_thread *t)
{
    ucontext_t frame;
    struct whole_signals *s = &whole_thread_as(t)->signals;
    /* A frame that is not there: let the kernel say so. */
    if (!whole_read_as(&frame, t->gpr[ENGINE_RSP], FRAME_SIZE))
        whole_sigreturn_at_as((void *)t->gpr[ENGINE_RSP]);
    greg_t *rip = &frame.uc_mcontext.gregs[REG_RIP];
    s->resume_rip = (uint64_t)*rip;
    *rip = (greg_t)whole_resumed;
    whole_mask_as(t, *mask_in(&frame));
    *mask_in(&frame) |= whole_asynchronous;
    if (frame.uc_stack.ss_size)
        alternate_set(t, &frame.uc_stack);
    whole_sigreturn_at_as(&frame);
}

void whole_resumed_as(struct engine_thread *t)
{
    struct whole_signals *s = &whole_thread_as(t)->signals;
    t->rip = s->resume_rip;
    s->fresh = t->rflags & EFLAGS_TF;
    engine_start_as(t);
}

/* The kernel keeps "ignore" across an exec, and resets what is handled. */
void whole_exec_begin_as(struct engine_thread *t)
{
    struct whole_thread *w = whole_thread_as(t);
    const struct whole_action *a = &w->actions->of[SIGTRAP];
    if (a->handler == (uint64_t)SIG_IGN) {
        w->exec_ignores = true;
        action_as(SIGTRAP, a, NULL);
    }
}

void whole_exec_failed_as(struct engine_thread *t)
{
    whole_thread_as(t)->exec_ignores = false;
    whole_signals_retake_as();
}

/* ---- signals that wait ---- */

/* There is room in the queue as a rule: the signal has just been taken out of it. */
static void send_as(const siginfo_t *info)
{
    enum { ATTEMPTS = 1000 };
    long pid = sys_call3_as(SYS_getpid, 0, 0, 0), tid = sys_call3_as(SYS_gettid, 0, 0, 0);
    for (int i = 0; i < ATTEMPTS; i++) {
        long result =
            sys_call6_as(SYS_rt_tgsigqueueinfo, pid, tid, info->si_signo, (long)info, 0, 0);
        if (result == 0)
            return;
        if (result != -EAGAIN)
            break;
        sys_call3_as(SYS_sched_yield, 0, 0, 0);
    }
    sys_call3_as(SYS_tgkill, pid, tid, info->si_signo);
}

/* Real-time signals keep their order: those that are queued already go behind this one. */
static void send_first_as(const siginfo_t *info)
{
    enum { BEHIND = 16 };
    static const uint64_t now[2];
    siginfo_t behind[BEHIND];
    uint64_t set = BIT(info->si_signo);
    uint32_t count = 0;
    while (info->si_signo >= __SIGRTMIN && count < BEHIND &&
           sys_call6_as(SYS_rt_sigtimedwait, (long)&set, (long)&behind[count], (long)now, MASK_SIZE,
                        0, 0) == info->si_signo)
        count++;
    send_as(info);
    for (uint32_t i = 0; i < count; i++)
        send_as(&behind[i]);
}

/* The signal has come too early: it will come again when the mask is the program's. Until the
 * frame that it came with ends it is blocked, which SA_NODEFER does not do. */
static void again_as(struct engine_thread *t, const siginfo_t *info)
{
    int number = info->si_signo;
    uint64_t blocked = BIT(number);
    sys_call6_as(SYS_rt_sigprocmask, SIG_BLOCK, (long)&blocked, 0, MASK_SIZE, 0, 0);
    const struct whole_action *a = &whole_thread_as(t)->actions->of[number];
    /* The kernel has reset the action when it delivered the signal. */
    if (a->flags & SA_RESETHAND && is_handler(a->handler) && number != SIGTRAP) {
        struct whole_action ours = replaced(number, a);
        action_as(number, &ours, NULL);
    }
    send_first_as(info);
}

void whole_native_step_as(struct engine_thread *t)
{
    struct whole_signals *s = &whole_thread_as(t)->signals;
    uint64_t mask = whole_block_as();
    s->native = true;
    s->native_arrived = false;
    s->step_mask = t->mask_changed ? t->mask : mask;
    whole_mask_as(t, (s->step_mask | whole_asynchronous) & ~BIT(SIGTRAP));
    t->rflags |= EFLAGS_TF;
    t->host_gs = (uint64_t)t;
}

/* ---- arrival ---- */

/* What would have happened without a handler: the default action of the signals that come here is
 * to end the process. */
static void die_as(int number)
{
    struct whole_action action = {.handler = (uint64_t)SIG_DFL};
    uint64_t set = BIT(number);
    action_as(number, &action, NULL);
    sys_call6_as(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&set, 0, MASK_SIZE, 0, 0);
    sys_call3_as(SYS_tgkill, sys_call3_as(SYS_getpid, 0, 0, 0), sys_call3_as(SYS_gettid, 0, 0, 0),
                 number);
}

/* Raised by the instruction itself, not sent. */
static bool is_fault(int number, int code)
{
    return (BIT(number) & FAULTS) && code > 0;
}

/* u holds the program's registers. Starts the program's handler on this very frame. */
static void deliver_as(struct engine_thread *t, int number, siginfo_t *info, ucontext_t *u,
                       uint64_t mask)
{
    struct whole_action *a = &whole_thread_as(t)->actions->of[number];
    uint64_t handler = a->handler;
    if (!is_handler(handler)) {
        if (is_fault(number, info->si_code) || handler == (uint64_t)SIG_DFL)
            die_as(number);
        engine_redirect_as(t, u->uc_mcontext.gregs);
        return;
    }
    if (number == SIGTRAP && a->flags & SA_RESETHAND)
        a->handler = (uint64_t)SIG_DFL;
    engine_registers_take(t, u->uc_mcontext.gregs);
    t->gpr[ENGINE_RAX] = 0;
    t->gpr[ENGINE_RDI] = (uint64_t)number;
    t->gpr[ENGINE_RSI] = (uint64_t)info;
    t->gpr[ENGINE_RDX] = (uint64_t)u;
    t->gpr[ENGINE_RSP] = (uint64_t)u - sizeof(uint64_t);
    t->rip = handler;
    t->rflags &= ~(uint64_t)(EFLAGS_DF | EFLAGS_RF | EFLAGS_TF);
    tool_set_interrupted_as(t, (uint64_t)u->uc_mcontext.gregs[REG_RIP]);
    whole_mask_as(t, mask);
    whole_thread_as(t)->signals.handling = false;
    engine_start_as(t);
}

static bool inside(uint64_t rip)
{
    return rip - (uint64_t)whole_text_begin < (uint64_t)(whole_text_end - whole_text_begin);
}

/* Where a signal begins: not all signals are blocked yet. */
static bool in_entry(uint64_t rip)
{
    return rip - (uint64_t)whole_signal_entry <
           (uint64_t)whole_signal_blocked - (uint64_t)whole_signal_entry;
}

/* Where one is handled, signals blocked; whole_signal_arrived_as comes in between. */
static bool in_handling(const struct whole_signals *s, uint64_t rip)
{
    return s->handling || rip - (uint64_t)whole_signal_blocked <
                              (uint64_t)whole_signal_end - (uint64_t)whole_signal_blocked;
}

/* In switch.S. */
static bool in_engine(uint64_t rip)
{
    return rip - (uint64_t)engine_text_begin < (uint64_t)(engine_text_end - engine_text_begin);
}

static enum engine_place place_as(struct engine_thread *t, greg_t *gregs)
{
    uint64_t rip = (uint64_t)gregs[REG_RIP];
    if (!inside(rip))
        return engine_recover_as(t, gregs);
    if (rip != (uint64_t)whole_resumed)
        return PLACE_INSIDE;
    gregs[REG_RIP] = (greg_t)whole_thread_as(t)->signals.resume_rip;
    return PLACE_BOUNDARY;
}

static enum engine_place place_of_copy(struct engine_thread *t, const greg_t *gregs, greg_t *copy)
{
    for (unsigned i = 0; i < sizeof(gregset_t) / sizeof *gregs; i++)
        copy[i] = gregs[i];
    return place_as(t, copy);
}

/* The mask of the program, which the interrupted context has unless the engine has blocked
 * signals. */
static uint64_t program_mask(const struct engine_thread *t, ucontext_t *u)
{
    return t->mask_changed ? t->mask : *mask_in(u);
}

/* The engine's code goes on, signals blocked until the program does. */
static void put_off_as(struct engine_thread *t, const siginfo_t *info, ucontext_t *u)
{
    whole_mask_as(t, program_mask(t, u));
    *mask_in(u) |= whole_asynchronous | BIT(info->si_signo);
    whole_thread_as(t)->signals.put_off = true;
    again_as(t, info);
}

/* The interrupted code is about to handle another signal, at whole_signal_entry: that one goes
 * first, with the mask that the kernel has made for its handler. It may lie above a third one in
 * the same way: all that were put off stay blocked. */
static void put_off_nested_as(struct engine_thread *t, const siginfo_t *info, ucontext_t *u)
{
    struct whole_signals *s = &whole_thread_as(t)->signals;
    s->nested = true;
    s->nested_mask = *mask_in(u);
    s->nested_held |= BIT(info->si_signo);
    *mask_in(u) |= whole_asynchronous | s->nested_held;
    again_as(t, info);
}

/* One that is no fault, and yet of a kind that is not blocked, while another one is handled: after
 * that one. The mask is set then, or its frame has it. */
static void put_off_handled_as(struct engine_thread *t, const siginfo_t *info, ucontext_t *u)
{
    *mask_in(u) |= BIT(info->si_signo);
    again_as(t, info);
}

static void step_as(struct engine_thread *t, ucontext_t *u)
{
    struct whole_signals *s = &whole_thread_as(t)->signals;
    if (!s->stepping)
        s->step_mask = program_mask(t, u);
    s->stepping = true;
    *mask_in(u) |= whole_asynchronous;
    *mask_in(u) &= ~BIT(SIGTRAP);
    u->uc_mcontext.gregs[REG_EFL] |= EFLAGS_TF;
}

/* To the next boundary first. SIGTRAP cannot be blocked on the way there. */
static void step_first_as(struct engine_thread *t, const siginfo_t *info, ucontext_t *u)
{
    struct whole_signals *s = &whole_thread_as(t)->signals;
    step_as(t, u);
    if (info->si_signo == SIGTRAP) {
        s->trap_waits = true;
        s->trap = *info;
        return;
    }
    *mask_in(u) |= BIT(info->si_signo);
    again_as(t, info);
}

/* True while the trap flag traps on the way to the instruction, and once in front of it. */
static bool native_early_as(struct engine_thread *t, uint64_t rip)
{
    struct whole_signals *s = &whole_thread_as(t)->signals;
    enum { LEAVE_BYTES = 64 };
    if (in_engine(rip) || rip - t->leave < LEAVE_BYTES)
        return true;
    bool arrived = s->native_arrived;
    s->native_arrived = true;
    return !arrived && rip == t->rip;
}

/* The instruction that ran natively is done, or faulted. */
static void native_end_as(struct engine_thread *t, ucontext_t *u)
{
    struct whole_signals *s = &whole_thread_as(t)->signals;
    s->native = false;
    t->mask_changed = 0;
    u->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)EFLAGS_TF;
    *mask_in(u) = s->step_mask;
}

static bool is_64_bit(const greg_t *gregs)
{
    enum { USER_CS = 0x33 };
    return (gregs[REG_CSGSFS] & 0xffff) == USER_CS;
}

/* The mask that the kernel would have made for a handler. */
static uint64_t handler_mask(const struct whole_action *a, int number, uint64_t mask)
{
    return mask | a->mask | (a->flags & SA_NODEFER ? 0 : BIT(number));
}

/* One instruction further. */
static void stepped_as(struct engine_thread *t, ucontext_t *u)
{
    struct whole_signals *s = &whole_thread_as(t)->signals;
    gregset_t copy;
    enum engine_place place = place_of_copy(t, u->uc_mcontext.gregs, copy);
    if (place == PLACE_BETWEEN || (s->step_flags && place == PLACE_CORE))
        return;
    s->stepping = false;
    u->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)EFLAGS_TF;
    u->uc_mcontext.gregs[REG_EFL] |= (greg_t)s->step_flags;
    s->step_flags = 0;
    *mask_in(u) = s->step_mask;
    if (place == PLACE_INSIDE) {
        whole_mask_as(t, s->step_mask);
        *mask_in(u) |= whole_asynchronous | BIT(SIGTRAP);
        s->put_off = true;
    }
    if (s->trap_waits)
        again_as(t, &s->trap);
    s->trap_waits = false;
}

/* The program steps itself: true if this trap is not behind an instruction of the program, but on
 * the way to its next one, or in front of it. */
static bool early_as(struct engine_thread *t, const greg_t *gregs)
{
    struct whole_signals *s = &whole_thread_as(t)->signals;
    uint64_t rip = (uint64_t)gregs[REG_RIP];
    gregset_t copy;
    if (!s->fresh)
        return false;
    if (in_engine(rip) || inside(rip))
        return rip != (uint64_t)engine_syscall_done;
    enum engine_place place = place_of_copy(t, gregs, copy);
    if (place == PLACE_BETWEEN || place == PLACE_INSIDE)
        return true;
    s->fresh = false;
    return (uint64_t)copy[REG_RIP] == s->resume_rip;
}

/* The program wants its own accesses to be aligned (AC), but those of the engine's code in front of
 * its instructions need not be: on to the next one without. */
static bool alignment_as(struct engine_thread *t, int code, ucontext_t *u)
{
    struct whole_signals *s = &whole_thread_as(t)->signals;
    gregset_t copy;
    if (code != CODE_BUS_ALIGNMENT || !(u->uc_mcontext.gregs[REG_EFL] & EFLAGS_AC))
        return false;
    enum engine_place place = place_of_copy(t, u->uc_mcontext.gregs, copy);
    if (place != PLACE_CORE && place != PLACE_BETWEEN)
        return false;
    s->step_flags = EFLAGS_AC;
    u->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)EFLAGS_AC;
    step_as(t, u);
    return true;
}

/* A signal at a place where the program's state is not known. */
static void early_signal_as(struct engine_thread *t, siginfo_t *info, ucontext_t *u,
                            enum engine_place place)
{
    if (place == PLACE_BETWEEN)
        step_first_as(t, info, u);
    else if (in_entry((uint64_t)u->uc_mcontext.gregs[REG_RIP]))
        put_off_nested_as(t, info, u);
    else
        put_off_as(t, info, u);
}

static void arrived_as(int number, siginfo_t *info, ucontext_t *u, uint64_t mask,
                       struct engine_thread *t)
{
    struct whole_signals *s = &whole_thread_as(t)->signals;
    const struct whole_action *action = &whole_thread_as(t)->actions->of[number];
    greg_t *gregs = u->uc_mcontext.gregs;
    uint64_t rip = (uint64_t)gregs[REG_RIP];
    bool fault = is_fault(number, info->si_code);
    bool step = number == SIGTRAP && info->si_code == CODE_TRAP_TRACE;
    if (s->native) {
        if (step && native_early_as(t, rip))
            return;
        native_end_as(t, u);
        if (step && !is_64_bit(gregs)) {
            whole_strayed_as(t);
            return;
        }
        if (step) {
            engine_redirect_as(t, gregs);
            return;
        }
        mask = handler_mask(action, number, s->step_mask);
    } else if (step && s->stepping) {
        stepped_as(t, u);
        return;
    }
    if ((step && early_as(t, gregs)) || (number == SIGBUS && alignment_as(t, info->si_code, u)))
        return;
    enum engine_place place = place_as(t, gregs);
    if (place == PLACE_BETWEEN || place == PLACE_INSIDE) {
        if (step)
            return; /* on to its next instruction */
        if (fault && engine_probe_fault_as(gregs))
            return;
        if (fault)
            die_as(number); /* ours, and so an error: at once rather than over and over */
        else
            early_signal_as(t, info, u, place);
        return;
    }
    /* Arithmetic and undefined instructions name themselves. */
    if (fault && (uint64_t)info->si_addr == rip)
        info->si_addr = (void *)gregs[REG_RIP];
    s->put_off = false;
    if (t->mask_changed) { /* on the way to the program, its mask not yet restored */
        mask = handler_mask(action, number, t->mask);
        *mask_in(u) = t->mask;
    }
    deliver_as(t, number, info, u, mask);
}

void whole_signal_arrived_as(int number, siginfo_t *info, ucontext_t *u, uint64_t mask,
                             struct engine_thread *t)
{
    struct whole_signals *s = &whole_thread_as(t)->signals;
    uint64_t rip = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
    if (!is_fault(number, info->si_code) && in_handling(s, rip)) {
        put_off_handled_as(t, info, u);
        return;
    }
    bool within = s->handling; /* a fault of ours */
    s->handling = true;
    if (s->nested)
        mask = s->nested_mask;
    s->nested = false;
    if (!in_entry(rip))
        s->nested_held = 0;
    arrived_as(number, info, u, mask, t);
    s->handling = within;
}

uint64_t whole_signal_handler_as(int number)
{
    return whole.actions.of[number].handler;
}
