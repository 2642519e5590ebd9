#include "runtime/interpose/alternate.h"

#include <errno.h>
#include <stddef.h>

#include "runtime/carrier/carrier.h"
#include "runtime/interpose/faults.h"
#include "runtime/interpose/pointers.h"
#include "runtime/interpose/real.h"
#include "runtime/interpose/signals.h"
#include "runtime/interpose/vfork.h"
#include "runtime/process.h"
#include "runtime/sandbox_filter.h"
#include "runtime/self.h"
#include "runtime/thread.h"
#include "runtime/trigger/sync.h"
#include "sigsafe/hash.h"
#include "sigsafe/signal_frame.h"
#include "sigsafe/sys.h"

enum { SIGNALS = 65, DISARMS = 1u << 31 /* SS_AUTODISARM */, GO_IMAGES = 4 };

/* At the low end of our stack. */
struct own {
    uint64_t check;  /* of this address */
    stack_t program; /* what the program has set */
    bool changed;    /* it has set something */
};

/* atomic: the program's, of actions whose handler is alternate_entered_as */
static uint64_t handlers[SIGNALS];

/* Images with Go's runtime. atomic: hi, which is written last */
static struct {
    uint64_t lo, hi;
} go_images[GO_IMAGES];

/* alternate_entry.S */
_Noreturn void alternate_go(uint64_t handler, int signal, siginfo_t *info, void *context,
                            uint64_t frame);
void alternate_call(void (*run)(void *argument), void *argument, uint64_t top);

static uint64_t check_of(const struct own *own)
{
    return hash_word((uint64_t)own) ^ UINT64_C(0x70656e756d627261);
}

static struct own *own_of(const struct rt_thread *t)
{
    return (struct own *)((uint64_t)t - RT_SIGNAL_STACK);
}

bool alternate_holds_as(const struct rt_thread *t, uint64_t address)
{
    return address - (uint64_t)own_of(t) < RT_SIGNAL_STACK;
}

static bool is_own(const struct rt_thread *t, const stack_t *stack)
{
    return !(stack->ss_flags & SS_DISABLE) && (uint64_t)stack->ss_sp == (uint64_t)own_of(t);
}

bool alternate_takes_as(void)
{
    return rt_profiled_as() && !rt.attached && carrier_samples_as() &&
           guest.process->mechanism != MECHANISM_CALLS;
}

/* Of a stack that the kernel has told, what does not depend on who asks. */
static void program_set(struct rt_thread *t, const stack_t *told)
{
    struct own *own = own_of(t);
    own->program = (stack_t){.ss_flags = SS_DISABLE};
    if (!(told->ss_flags & SS_DISABLE))
        own->program = (stack_t){.ss_sp = told->ss_sp, .ss_size = told->ss_size};
    own->check = check_of(own);
    own->changed = false;
}

static stack_t ours_of(const struct rt_thread *t)
{
    return (stack_t){.ss_sp = own_of(t), .ss_size = RT_SIGNAL_STACK};
}

bool alternate_is_program_as(const struct rt_thread *t, uint64_t address)
{
    uint64_t lo = t->alternate.is_ours ? (uint64_t)own_of(t)->program.ss_sp : t->alternate.lo;
    uint64_t hi = t->alternate.is_ours ? lo + own_of(t)->program.ss_size : t->alternate.hi;
    return address >= lo && address < hi;
}

/* *told is the kernel's, and the program's. */
static bool own_set(struct rt_thread *t, const stack_t *told)
{
    stack_t stack = ours_of(t);
    if (!alternate_takes_as() || (unsigned)told->ss_flags & (unsigned)DISARMS ||
        told->ss_flags & SS_ONSTACK)
        return false;
    program_set(t, told);
    return sys_call3_as(SYS_sigaltstack, (long)&stack, 0, 0) == 0;
}

void alternate_begin_as(struct rt_thread *t)
{
    stack_t real;
    t->alternate.is_ours = alternate_takes_as() && (!rt_quiet_as() || sandbox_lets_stack(t)) &&
                           sys_call3_as(SYS_sigaltstack, 0, (long)&real, 0) == 0 &&
                           own_set(t, &real);
}

void alternate_end_as(struct rt_thread *t)
{
    stack_t real, program = own_of(t)->program;
    if (!t->alternate.is_ours)
        return;
    t->alternate.is_ours = false;
    if (sys_call3_as(SYS_sigaltstack, 0, (long)&real, 0) == 0 && is_own(t, &real))
        sys_call3_as(SYS_sigaltstack, (long)&program, 0, 0);
}

void alternate_again_as(struct rt_thread *t)
{
    stack_t real;
    if (sys_call3_as(SYS_sigaltstack, 0, (long)&real, 0) == 0 && !is_own(t, &real))
        t->alternate.is_ours = own_set(t, &real);
}

bool alternate_adopt_as(struct rt_thread *t, ucontext_t *u)
{
    if (!alternate_takes_as())
        return false;
    if ((unsigned)u->uc_stack.ss_flags & (unsigned)DISARMS)
        return true;
    program_set(t, &u->uc_stack);
    u->uc_stack = ours_of(t);
    t->alternate.is_ours = true;
    return true;
}

/* ---- sigaltstack ---- */

/* As the kernel answers it. */
static stack_t program_told(const struct rt_thread *t, uint64_t sp)
{
    stack_t stack = own_of(t)->program;
    if (signal_frame_is_on(sp, &stack))
        stack.ss_flags |= SS_ONSTACK;
    return stack;
}

/* The kernel looks at nothing else where a stack is what it has (do_sigaltstack, since Linux 5.14).
 * A thread that has set none has all zeroes. */
static bool is_no_change(const struct rt_thread *t, const stack_t *stack)
{
    const stack_t *now = &own_of(t)->program;
    if (!stack || !sandbox_lets_looks() || !pointer_readable_as(stack, sizeof *stack) ||
        stack->ss_sp != now->ss_sp || stack->ss_size != now->ss_size)
        return false;
    return stack->ss_flags == now->ss_flags || (!stack->ss_flags && !own_of(t)->changed);
}

/* The kernel takes what the program wants, and so refuses what it would; then it takes ours. In
 * between no signal may come: the program's stack may have no room, or no memory. What the kernel
 * has taken is asked from it: the program's pointers may be bad, the second one with the first
 * one's stack set already. */
static int change_seen(struct rt_thread *t, const stack_t *stack, stack_t *old, uint64_t sp)
{
    stack_t real, before = {.ss_flags = SS_DISABLE};
    bool known = REAL(sigaltstack)(NULL, &real) == 0, own = known && is_own(t, &real);
    if (own)
        before = program_told(t, sp);
    if (own && is_no_change(t, stack))
        stack = NULL;
    if (own && stack && before.ss_flags & SS_ONSTACK) {
        errno = EPERM;
        return -1;
    }
    struct sync_hold hold = {.thread = t};
    if (stack)
        sync_mask(&hold);
    int result = REAL(sigaltstack)(stack, old), error = errno;
    bool changed = stack && known && REAL(sigaltstack)(NULL, &real) == 0 && !is_own(t, &real);
    if (changed) {
        t->alternate.is_ours = own_set(t, &real);
        own_of(t)->changed = true;
    }
    sync_unmask(&hold);
    if (result == 0 && old && own)
        *old = before;
    errno = error;
    return result;
}

/* In a sandbox that may let no more of these calls pass than the program's own: what it sets may
 * have no room for a sample. */
static int change_quiet(struct rt_thread *t, const stack_t *stack, stack_t *old, uint64_t sp)
{
    stack_t before = program_told(t, sp);
    if (stack && before.ss_flags & SS_ONSTACK) {
        errno = EPERM;
        return -1;
    }
    if (stack)
        sandbox_samples_end();
    int result = REAL(sigaltstack)(stack, old);
    if (result == 0 && old && is_own(t, old))
        *old = before;
    if (result == 0 && stack)
        t->alternate.is_ours = false;
    return result;
}

int alternate_change_child(const struct rt_thread *t, const stack_t *stack, stack_t *old)
{
    stack_t real, before = program_told(t, (uint64_t)__builtin_frame_address(0));
    bool own = REAL(sigaltstack)(NULL, &real) == 0 && is_own(t, &real);
    if (own && before.ss_flags & SS_ONSTACK) {
        errno = EPERM;
        return -1;
    }
    if (stack)
        vfork_child_unsample_as(); /* there may be no room for a sample, or no memory */
    int result = REAL(sigaltstack)(stack, old);
    if (result == 0 && old && own)
        *old = before;
    return result;
}

int alternate_change(struct rt_thread *t, const stack_t *stack, stack_t *old)
{
    uint64_t sp = (uint64_t)__builtin_frame_address(0);
    if (!rt_quiet_as() || sandbox_lets_stack(t))
        return change_seen(t, stack, old, sp);
    return t->alternate.is_ours ? change_quiet(t, stack, old, sp) : REAL(sigaltstack)(stack, old);
}

/* ---- handlers of the program's ---- */

static void alternate_entered_as(int signal, siginfo_t *info, void *context)
{
    alternate_deliver_as(__atomic_load_n(&handlers[signal], __ATOMIC_RELAXED), true, signal, info,
                         context);
}

void alternate_give(void)
{
    const struct rt_thread *t = self_get();
    stack_t real;
    if (!t || !t->alternate.is_ours || REAL(sigaltstack)(NULL, &real) != 0 || !is_own(t, &real))
        return;
    vfork_child_unsample_as(); /* it may have no room for a sample */
    REAL(sigaltstack)(&own_of(t)->program, NULL);
}

uint64_t alternate_wrap(int signal, struct sigaction *action)
{
    uint64_t before = alternate_wrapped(signal), handler = (uint64_t)(uintptr_t)action->sa_handler;
    if (!((unsigned)action->sa_flags & SA_ONSTACK) || action->sa_handler == SIG_DFL ||
        action->sa_handler == SIG_IGN || !alternate_takes_as() || faults_is_ours(action) ||
        action->sa_sigaction == alternate_entered_as)
        return before;
    /* A vfork child's actions are its own, the table is its parent's. */
    if (!rt_quiet_as() && process_foreign_as()) {
        alternate_give();
        return before;
    }
    __atomic_store_n(&handlers[signal], handler, __ATOMIC_RELAXED);
    /* with SA_SIGINFO or without: the kernel passes all three */
    action->sa_sigaction = alternate_entered_as;
    return before;
}

void alternate_wrap_undo(int signal, uint64_t before)
{
    __atomic_store_n(&handlers[signal], before, __ATOMIC_RELAXED);
}

uint64_t alternate_wrapped(int signal)
{
    return __atomic_load_n(&handlers[signal], __ATOMIC_RELAXED);
}

void alternate_answer(struct sigaction *answer, uint64_t before)
{
    if (answer->sa_sigaction == alternate_entered_as)
        answer->sa_handler = (__sighandler_t)(uintptr_t)before;
}

void alternate_note_go_as(const struct image_source *source)
{
    static uint32_t count; /* atomic */
    uint64_t lo = UINT64_MAX, hi = 0;
    for (uint32_t i = 0; i < source->phdr_count; i++) {
        const Elf64_Phdr *p = &source->phdr[i];
        uint64_t begin = source->bias + p->p_vaddr;
        if (p->p_type != PT_LOAD)
            continue;
        lo = begin < lo ? begin : lo;
        hi = begin + p->p_memsz > hi ? begin + p->p_memsz : hi;
    }
    uint32_t n = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    if (n >= GO_IMAGES)
        return;
    go_images[n].lo = lo;
    __atomic_store_n(&go_images[n].hi, hi, __ATOMIC_RELEASE);
}

/* Go's runtime asks the kernel by its own instruction which stack a thread has, and takes ours for
 * its own; it sets its handlers through libc. */
static bool is_of_go(uint64_t handler)
{
    for (uint32_t i = 0; i < GO_IMAGES; i++)
        if (handler < __atomic_load_n(&go_images[i].hi, __ATOMIC_ACQUIRE) &&
            handler >= go_images[i].lo)
            return true;
    return false;
}

/* NULL: the kernel has not put the frame on a stack of ours. */
static const struct own *own_under(const ucontext_t *u)
{
    const struct own *own = u->uc_stack.ss_sp;
    if (u->uc_stack.ss_flags & SS_DISABLE || u->uc_stack.ss_size != RT_SIGNAL_STACK ||
        (uint64_t)u - (uint64_t)own >= RT_SIGNAL_STACK || own->check != check_of(own))
        return NULL;
    return own;
}

_Noreturn void alternate_deliver_as(uint64_t handler, bool on_stack, int signal, siginfo_t *info,
                                    void *context)
{
    enum { RESTORER = 8 };
    const ucontext_t *u = context;
    const struct own *own = own_under(u);
    uint64_t frame = (uint64_t)u - RESTORER;
    if (!own || is_of_go(handler))
        alternate_go(handler, signal, info, context, frame);
    uint64_t to = signal_frame_place(u, on_stack ? &own->program : NULL);
    if (!to) /* as the kernel does it */
        for (;;)
            signals_die_as(SIGSEGV);
    signal_frame_move_as(u, to);
    alternate_go(handler, signal, (siginfo_t *)(to + ((uint64_t)info - frame)),
                 (void *)(to + RESTORER), to);
}

/* ---- ours ---- */

void alternate_call_as(struct rt_thread *t, void (*run)(void *argument), void *argument)
{
    alternate_call(run, argument, (uint64_t)own_of(t) + RT_SIGNAL_STACK);
}
