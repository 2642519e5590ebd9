#include "runtime/interpose/signals.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "runtime/carrier/carrier.h"
#include "runtime/trigger/interrupted.h"
#include "runtime/interpose/faults.h"
#include "guest/images.h"
#include "runtime/interpose/pointers.h"
#include "runtime/interpose/alternate.h"
#include "runtime/interpose/real.h"
#include "runtime/interpose/signals_held.h"
#include "runtime/interpose/signals_mask.h"
#include "runtime/interpose/vfork.h"
#include "runtime/process.h"
#include "runtime/runtime.h"
#include "runtime/sandbox_filter.h"
#include "runtime/self.h"
#include "runtime/thread.h"
#include "runtime/trigger/delivery.h"
#include "sigsafe/sys.h"

enum { SIGNALS = 65, RESTORER = 0x04000000, CODE_KERNEL_MIN = 1, CODE_TRAP_PERF = 6 };

static struct sigaction program_action;    /* what the program set for our signal */
static bool ignored;                       /* our handler is away (signals_ignore) */
/* atomic: threads that ignore the signal around exec (signals_exec_ignore) */
static uint32_t exec_ignores;
/* atomic: no stack of its own for our handler (signals_leave_alternate_as) */
static bool alternate_shared;
static bool on_stack_before;               /* an action with SA_ONSTACK was set before we began */
static uint8_t masks_ours[SIGNALS];        /* by signal: the program's sa_mask holds our signal */

/* Of a child in our memory, or in a copy of it, that nobody was told of: NULL where there is no
 * place to keep them. */
static struct rt_actions *actions_own(void)
{
    struct rt_thread *t = rt_quiet_as() || vfork_is_confined_as() ? NULL : self_get();
    if (!t)
        return NULL;
    int32_t pid = (int32_t)sys_call3_as(SYS_getpid, 0, 0, 0);
    if (t->actions.pid != pid && t->actions.pid != guest.pid &&
        t->actions.pid == (int32_t)sys_call3_as(SYS_getppid, 0, 0, 0))
        t->actions.pid = pid; /* its child has inherited them */
    else if (t->actions.pid != pid)
        t->actions = (struct rt_actions){.pid = pid};
    return &t->actions;
}

static uint64_t bit_of(int signal)
{
    return UINT64_C(1) << (signal - 1);
}

/* Of a child's: true: it has set the action itself; then *masks says whether with our signal in its
 * mask. */
static bool own_get(const struct rt_actions *own, int signal, bool *masks)
{
    if (!own || !(own->set & bit_of(signal)))
        return false;
    *masks = own->masks & bit_of(signal);
    return true;
}

static void own_put(struct rt_actions *own, int signal, bool masks)
{
    if (!own)
        return;
    own->set |= bit_of(signal);
    own->masks = masks ? own->masks | bit_of(signal) : own->masks & ~bit_of(signal);
}

bool signals_ours(int number)
{
    return signals_active_as() && (number == signals_number_as() || faults_ours(number));
}

/* What libc and the kernel make of an action, and answer when they are asked for it. */
static struct sigaction as_kept(const struct sigaction *wanted)
{
    /* the kernel's UAPI_SA_FLAGS but SA_RESETHAND, the highest bit */
    enum { KNOWN = 0x5c000807 };
    struct sigaction kept = *wanted, now;
    kept.sa_flags =
        (int)(((unsigned)wanted->sa_flags & (KNOWN | (unsigned)SA_RESETHAND)) | RESTORER);
    kept.sa_restorer =
        REAL(sigaction)(signals_number_as(), NULL, &now) == 0 ? now.sa_restorer : NULL;
    sigdelset(&kept.sa_mask, SIGKILL);
    sigdelset(&kept.sa_mask, SIGSTOP);
    return kept;
}

/* The members only, as libc does; between them lie bytes that are the program's. */
static void answer_write(struct sigaction *to, const struct sigaction *from)
{
    to->sa_sigaction = from->sa_sigaction;
    to->sa_mask = from->sa_mask;
    to->sa_flags = from->sa_flags;
    to->sa_restorer = from->sa_restorer;
}

static bool handler_install(struct sigaction *before)
{
    struct sigaction action = {.sa_sigaction = handler_as, .sa_flags = SA_SIGINFO | SA_RESTART};
    if (!__atomic_load_n(&alternate_shared, __ATOMIC_ACQUIRE))
        action.sa_flags |= SA_ONSTACK;
    /* All of them: sigfillset leaves out the two that glibc uses itself. One of them cancels a
     * thread at any instruction, if it allows that: in the handler, with what this holds. */
    memset(&action.sa_mask, 0xff, sizeof action.sa_mask);
    return REAL(sigaction)(signals_number_as(), &action, before) == 0;
}

/* Where libc is; what is called there does not matter. */
static uint64_t libc_code;

/* True after a system call's instruction (0f 05) in libc. */
bool signals_unblocked_by_libc_as(uint64_t pc)
{
    const struct unwind_index *index = images_current_as();
    const struct unwind_image *libc = unwind_index_find_as(index, libc_code);
    const uint8_t *code = (const uint8_t *)pc;
    return libc && unwind_index_find_as(index, pc) == libc &&
           unwind_index_find_as(index, pc - 2) == libc && code[-2] == 0x0f && code[-1] == 0x05;
}

/* Those that a library's constructor has set, or a child of a raw fork. */
static void actions_wrap(void)
{
    for (int signal = 1; signal < SIGNALS; signal++) {
        struct sigaction now;
        if (signal == signals_number_as() || REAL(sigaction)(signal, NULL, &now) != 0 ||
            !((unsigned)now.sa_flags & SA_ONSTACK) || now.sa_handler == SIG_DFL ||
            now.sa_handler == SIG_IGN) /* libc would set its flag */
            continue;
        alternate_wrap(signal, &now);
        REAL(sigaction)(signal, &now, NULL);
    }
}

void signals_adopt_stacks(void)
{
    if (rt_profiled_as())
        actions_wrap();
}

bool signals_install(void)
{
    libc_code = (uint64_t)REAL(sigprocmask);
    if (!handler_install(&program_action))
        return false;
    if (rt.carrier->fault_as)
        faults_install();
    signals_mask_begin();
    if (on_stack_before)
        actions_wrap();
    return true;
}

/* The kernel has them as the child has set them: or, without libc's flag, as it has reset them, or
 * as the child has set them without libc. Those stay as they are. */
static void own_adopt(void)
{
    const struct rt_actions *own = actions_own();
    for (int signal = 1; own && signal < SIGNALS; signal++) {
        struct sigaction now;
        bool masks;
        if (!own_get(own, signal, &masks))
            continue;
        bool by_libc = REAL(sigaction)(signal, NULL, &now) == 0 &&
                       (unsigned)now.sa_flags & RESTORER;
        masks_ours[signal] = masks && by_libc;
        if (!masks_ours[signal] ||
            ((unsigned)now.sa_flags & SA_ONSTACK && !alternate_takes_as()))
            continue;
        sigdelset(&now.sa_mask, signals_number_as());
        REAL(sigaction)(signal, &now, NULL);
    }
}

void signals_adopt(void)
{
    struct sigaction now;
    if (!signals_active_as())
        return;
    own_adopt();
    if (REAL(sigaction)(signals_number_as(), NULL, &now) == 0 && now.sa_sigaction != handler_as)
        handler_install(&program_action);
    for (int signal = 1; signal < SIGNALS; signal++) {
        struct sigaction ours;
        if (!faults_ours(signal) || REAL(sigaction)(signal, NULL, &now) != 0 ||
            faults_is_ours(&now))
            continue;
        ours = faults_installed(signal, &now);
        faults_note(signal, &now);
        if (faults_is_ours(&ours)) /* else libc would set a flag */
            REAL(sigaction)(signal, &ours, NULL);
    }
}

void signals_uninstall(void)
{
    faults_uninstall();
    REAL(sigaction)(signals_number_as(), &program_action, NULL);
    if (signals_believed_blocked())
        signals_mask_real_as(SIG_BLOCK);
}

bool signals_join(void)
{
    libc_code = (uint64_t)REAL(sigprocmask);
    return handler_install(&program_action);
}

void signals_leave(void)
{
    struct sigaction now;
    if (REAL(sigaction)(signals_number_as(), NULL, &now) == 0 && now.sa_sigaction == handler_as)
        REAL(sigaction)(signals_number_as(), &program_action, NULL);
}

/* The kernel's struct sigaction, for use inside the handler. */
struct kernel_sigaction {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

void signals_leave_alternate_as(void)
{
    struct kernel_sigaction now = {0};
    if (__atomic_exchange_n(&alternate_shared, true, __ATOMIC_ACQ_REL))
        return;
    sys_call6_as(SYS_rt_sigaction, signals_number_as(), 0, (long)&now, sizeof now.mask, 0, 0);
    now.flags &= ~(unsigned long)SA_ONSTACK;
    if ((uintptr_t)now.handler == (uintptr_t)handler_as)
        sys_call6_as(SYS_rt_sigaction, signals_number_as(), (long)&now, 0, sizeof now.mask, 0, 0);
}

static bool program_set(void)
{
    return sandbox_lets_actions() &&
           REAL(sigaction)(signals_number_as(), &program_action, NULL) == 0;
}

static bool ignore_set(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    return REAL(sigaction)(signals_number_as(), &ignore, NULL) == 0;
}

void signals_ignore(bool on)
{
    bool unhandled = program_action.sa_handler == SIG_DFL || program_action.sa_handler == SIG_IGN;
    if (on && unhandled)
        ignored = ignore_set();
    else if (ignored)
        ignored = !handler_install(NULL);
}

bool signals_exec_ignore(void)
{
    __atomic_add_fetch(&exec_ignores, 1, __ATOMIC_SEQ_CST);
    bool set = ignore_set();
    if (!set)
        __atomic_sub_fetch(&exec_ignores, 1, __ATOMIC_SEQ_CST);
    return set;
}

static void exec_failed(void)
{
    if (!__atomic_sub_fetch(&exec_ignores, 1, __ATOMIC_SEQ_CST) && !ignored)
        handler_install(NULL);
}

/* Undoes it without our handler. There is no thread that it was for: in a fork child, and in a
 * vfork child, whose actions are its own; before an exec for a moment, in which it would have to
 * wake up for the first time since then. While another program is started that is too long: only if
 * there is no other thread. */
static bool ignored_give(void)
{
    return ignored && !exec_ignores && !sandbox_has_samples() && program_set();
}

void signals_fork_child(void)
{
    if ((ignored || exec_ignores) && program_set())
        ignored = false;
    exec_ignores = 0;
}

/* The default action of our signals is to end the process: let the kernel do it. */
void signals_die_as(int signal)
{
    struct kernel_sigaction action = {SIG_DFL, 0, NULL, 0};
    uint64_t set = UINT64_C(1) << (signal - 1);
    sys_call6_as(SYS_rt_sigaction, signal, (long)&action, 0, 8, 0, 0);
    sys_call6_as(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&set, 0, 8, 0, 0);
    sys_call3_as(SYS_tgkill, sys_call3_as(SYS_getpid, 0, 0, 0), sys_call3_as(SYS_gettid, 0, 0, 0),
                 signal);
}

/* While its handler runs, the signal is blocked. */
static void handler_call_as(const struct kernel_sigaction *action, int signal, siginfo_t *info,
                            void *context)
{
    bool *blocked = rt_quiet_as() || !signals_active_as() ? NULL : signals_believed_as(),
         before = blocked && *blocked;
    uint64_t bit = UINT64_C(1) << (signal - 1);
    if (blocked && (!(action->flags & SA_NODEFER) || action->mask & bit))
        *blocked = true;
    if (action->flags & SA_SIGINFO)
        ((void (*)(int, siginfo_t *, void *))(void (*)(void))action->handler)(signal, info,
                                                                              context);
    else
        action->handler(signal);
    if (!blocked)
        return;
    *blocked = before;
    if (before || !held_here_as())
        return;
    signals_mask_real_as(SIG_BLOCK); /* they come when this handler has returned */
    held_release_as(signal);
}

/* On the stack on which the program's handler runs; all signals are blocked. */
static void program_enter(int signal, siginfo_t *info, void *context)
{
    const struct kernel_sigaction action = {program_action.sa_handler,
                                            (unsigned)program_action.sa_flags, NULL,
                                            signals_mask_of(&program_action.sa_mask)};
    const ucontext_t *u = context;
    uint64_t mask = signals_mask_of(&u->uc_sigmask) | action.mask;
    if (action.handler == SIG_DFL || action.handler == SIG_IGN) /* another thread has just set it */
        return;
    if (!(action.flags & SA_RESTART))
        interrupted_end_as(context);
    if (sandbox_lets_looks()) /* else it runs with all signals blocked */
        sys_call6_as(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, 8, 0, 0);
    if (action.flags & SA_RESETHAND)
        program_action.sa_handler = SIG_DFL;
    handler_call_as(&action, signal, info, context);
}

void signals_chain_as(int signal, siginfo_t *info, void *context)
{
    __sighandler_t handler = program_action.sa_handler;
    bool unhandled = handler == SIG_DFL || handler == SIG_IGN;
    if (info->si_code == CODE_TRAP_PERF && unhandled)
        return; /* an event of ours that was disarmed meanwhile */
    if (signals_hold_as(signal, info, context))
        return;
    if (handler == SIG_IGN && info->si_code < CODE_KERNEL_MIN)
        return;
    if (unhandled || signals_is_forced_as(info))
        signals_die_as(signal);
    else
        alternate_deliver_as((uint64_t)(uintptr_t)program_enter,
                             (unsigned)program_action.sa_flags & SA_ONSTACK, signal, info, context);
}

/* The program's mask for another signal must not block ours while that handler runs; but where ours
 * would come on the same alternate stack it must, as its size is the program's choice: a second
 * frame there may not fit, and the kernel then ends the program. */
static int action_set(int signal, const struct sigaction *wanted, struct sigaction *old)
{
    struct sigaction without;
    /* A vfork child's actions are its own; the table is its parent's. */
    bool foreign = !rt_quiet_as() && process_foreign_as(), before = masks_ours[signal];
    struct rt_actions *own = foreign ? actions_own() : NULL,
                      own_before = own ? *own : (struct rt_actions){0};
    bool set_itself = own_get(own, signal, &before);
    uint8_t table_before = masks_ours[signal];
    if (wanted) {
        answer_write(&without, wanted);
        if ((unsigned)wanted->sa_flags & SA_ONSTACK && !alternate_takes_as())
            sigaddset(&without.sa_mask, signals_number_as());
        else if (!foreign)
            sigdelset(&without.sa_mask, signals_number_as());
        /* Before the call: libc may fault after the kernel's part, and the program's handler may
         * leave it. */
        bool masks = sigismember(&wanted->sa_mask, signals_number_as()) == 1;
        if (foreign)
            own_put(own, signal, masks);
        else
            masks_ours[signal] = masks;
    }
    uint64_t handler = wanted ? alternate_wrap(signal, &without) : alternate_wrapped(signal);
    int result = REAL(sigaction)(signal, wanted ? &without : NULL, old);
    if (result != 0) {
        alternate_wrap_undo(signal, handler);
        masks_ours[signal] = table_before;
        if (own)
            *own = own_before;
        return result;
    }
    if (!old)
        return 0;
    alternate_answer(old, handler);
    /* libc's own flag: without it the kernel has reset the action of an ignored signal, as for
     * CLONE_CLEAR_SIGHAND, and there is no mask. */
    if (before && (unsigned)old->sa_flags & RESTORER)
        sigaddset(&old->sa_mask, signals_number_as());
    else if ((!foreign || set_itself) && ((unsigned)old->sa_flags & SA_ONSTACK))
        sigdelset(&old->sa_mask, signals_number_as());
    return 0;
}

/* Behind our handler for a fault's signal is the program's. A vfork child's actions are its own. */
static int action_of_fault(int signal, const struct sigaction *wanted, struct sigaction *old)
{
    struct sigaction before = faults_program(signal), ours;
    bool foreign = process_foreign_as();
    if (wanted && !foreign) {
        struct sigaction kept = as_kept(wanted);
        ours = faults_installed(signal, wanted);
        faults_note(signal, &kept);
    }
    int result = action_set(signal, wanted && !foreign ? &ours : wanted, old);
    if (result == 0 && old)
        faults_answer(old, &before);
    return result;
}

/* A vfork child's actions are its own, but program_action is its parent's. */
static int action_of_child(const struct sigaction *wanted, struct sigaction *old)
{
    struct sigaction before;
    if (wanted) {
        vfork_child_unsample_as();
        signals_child_act();
        if ((unsigned)wanted->sa_flags & SA_ONSTACK)
            alternate_give();
    }
    int result = REAL(sigaction)(signals_number_as(), wanted, &before);
    if (result == 0 && old)
        answer_write(old, before.sa_sigaction == handler_as ? &program_action : &before);
    return result;
}

sighandler_t signals_set_by_libc(int number, bool set, sighandler_t was)
{
    struct sigaction answer = {.sa_handler = was};
    if (was == SIG_ERR || !signals_active_as() || number < 1 || number >= SIGNALS)
        return was;
    if (set && (rt_quiet_as() || !process_foreign_as()))
        masks_ours[number] = 0;
    else if (set)
        own_put(actions_own(), number, false);
    alternate_answer(&answer, alternate_wrapped(number));
    return answer.sa_handler;
}

EXPORT int sigaction(int signal, const struct sigaction *restrict wanted,
                     struct sigaction *restrict old)
{
    if (!signals_active_as() || signal < 1 || signal >= SIGNALS) {
        int result = REAL(sigaction)(signal, wanted, old);
        on_stack_before |= result == 0 && wanted && (unsigned)wanted->sa_flags & SA_ONSTACK;
        return result;
    }
    if (wanted && !rt_quiet_as() && !pointer_readable_as(wanted, sizeof *wanted))
        return REAL(sigaction)(signal, wanted, old); /* libc reads it, and faults */
    if (signal != signals_number_as())
        return faults_ours(signal) ? action_of_fault(signal, wanted, old)
                                   : action_set(signal, wanted, old);
    if (process_foreign_as())
        return action_of_child(wanted, old);
    struct sigaction before = program_action;
    if (wanted) {
        program_action = as_kept(wanted);
        signals_ignore(ignored);
        if (wanted->sa_handler == SIG_IGN)
            held_forget_all_as();
    }
    if (old)
        answer_write(old, &before);
    return 0;
}

/* What interpose/syscall.S hands on. */
long sigaction_by_number(long number, long signal, const struct kernel_sigaction *wanted,
                         struct kernel_sigaction *old, long size);
long sigaction_by_number(long number, long signal, const struct kernel_sigaction *wanted,
                         struct kernel_sigaction *old, long size)
{
    struct sigaction given = {0}, before = {0};
    if (!signals_active_as() || rt_quiet_as() || signal != signals_number_as() ||
        size != sizeof wanted->mask) {
        long result = sys_call6_as(number, signal, (long)wanted, (long)old, size, 0, 0);
        return result < 0 ? call_failed(result) : result;
    }
    if (wanted && !pointer_readable_as(wanted, sizeof *wanted))
        return call_failed(-EFAULT);
    if (wanted) {
        given.sa_handler = wanted->handler;
        given.sa_flags = (int)(wanted->flags & ~(unsigned long)RESTORER);
        memcpy(&given.sa_mask, &wanted->mask, sizeof wanted->mask);
    }
    if (sigaction((int)signal, wanted ? &given : NULL, &before))
        return -1;
    if (!old)
        return 0;
    const struct kernel_sigaction answer = {before.sa_handler, (unsigned)before.sa_flags,
                                            before.sa_restorer, signals_mask_of(&before.sa_mask)};
    long written = sys_call6_as(number, signal, 0, (long)old, size, 0, 0);
    if (written < 0)
        return call_failed(written);
    *old = answer;
    return 0;
}

static bool ignore_real(void)
{
    struct sigaction now;
    return program_action.sa_handler == SIG_IGN &&
           REAL(sigaction)(signals_number_as(), NULL, &now) == 0 &&
           now.sa_sigaction == handler_as && ignore_set();
}

struct signals_lent signals_lend(bool is_exec)
{
    if (vfork_is_confined_as())
        return (struct signals_lent){0};
    struct signals_lent lent = {.given = signals_active_as() && (is_exec || !thread_others_as()) &&
                                         ignored_give()};
    if (!signals_active_as() || rt_quiet_as())
        return lent;
    lent.ignored = ignore_real();
    lent.blocked = *signals_believed_as() && !signals_mask_real_as(SIG_BLOCK);
    if (is_exec && *signals_believed_as())
        held_release_as(signals_number_as()); /* what is pending stays so */
    return lent;
}

void signals_return(struct signals_lent lent)
{
    if (lent.blocked)
        signals_mask_real_as(SIG_UNBLOCK);
    if (lent.ignored)
        handler_install(NULL);
    if (lent.given)
        ignore_set();
    if (lent.exec_ignores)
        exec_failed();
}
