#include "runtime/interpose/signals.h"

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "runtime/carrier/handler.h"
#include "runtime/interpose/real.h"
#include "runtime/runtime.h"
#include "sigsafe/sys.h"

enum { SIGNALS = 65, CODE_KERNEL_MIN = 1, CODE_TRAP_PERF = 6 };

static struct sigaction program_action;    /* what the program set for our signal */
static uint8_t masks_ours[SIGNALS];        /* by signal: the program's sa_mask holds our signal */
static _Thread_local bool believed_blocked __attribute__((tls_model("initial-exec")));

static bool active(void)
{
    return rt.process != NULL;
}

static int ours(void)
{
    return (int)rt.config->signal;
}

bool signals_install(void)
{
    struct sigaction action = {.sa_sigaction = handler_as,
                               .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigset_t set, old;
    sigfillset(&action.sa_mask);
    if (REAL(sigaction)(ours(), &action, &program_action) != 0)
        return false;
    sigemptyset(&set);
    sigaddset(&set, ours());
    if (REAL(sigprocmask)(SIG_UNBLOCK, &set, &old) == 0)
        believed_blocked = sigismember(&old, ours()) == 1;
    return true;
}

void signals_uninstall(void)
{
    REAL(sigaction)(ours(), &program_action, NULL);
}

bool signals_believed_blocked(void)
{
    return believed_blocked;
}

void signals_believe_blocked(bool blocked)
{
    believed_blocked = blocked;
}

/* The kernel's struct sigaction, for use inside the handler. */
struct kernel_sigaction {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

/* The default action of our signals is to end the process: let the kernel do it. */
static void die_by_default(int signal)
{
    struct kernel_sigaction action = {SIG_DFL, 0, NULL, 0};
    uint64_t set = UINT64_C(1) << (signal - 1);
    sys_call6_as(SYS_rt_sigaction, signal, (long)&action, 0, 8, 0, 0);
    sys_call6_as(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&set, 0, 8, 0, 0);
    sys_call3_as(SYS_tgkill, sys_call3_as(SYS_getpid, 0, 0, 0), sys_call3_as(SYS_gettid, 0, 0, 0),
                 signal);
}

void signals_chain_as(int signal, siginfo_t *info, void *context)
{
    struct sigaction action = program_action;
    bool unhandled = action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN;
    if (info->si_code == CODE_TRAP_PERF && unhandled)
        return; /* an event of ours that was disarmed meanwhile */
    if (action.sa_handler == SIG_IGN && info->si_code < CODE_KERNEL_MIN)
        return;
    if (unhandled) {
        die_by_default(signal);
        return;
    }
    const ucontext_t *u = context;
    uint64_t mask = 0;
    for (int i = 0; i < 8; i++)
        mask |= (uint64_t)((const uint8_t *)&u->uc_sigmask)[i] << (8 * i) |
                (uint64_t)((const uint8_t *)&action.sa_mask)[i] << (8 * i);
    sys_call6_as(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, 8, 0, 0);
    if ((unsigned)action.sa_flags & SA_RESETHAND)
        program_action.sa_handler = SIG_DFL;
    if (action.sa_flags & SA_SIGINFO)
        action.sa_sigaction(signal, info, context);
    else
        action.sa_handler(signal);
}

/* The program's mask for another signal must not block ours while that handler runs. */
static int action_set(int signal, const struct sigaction *wanted, struct sigaction *old)
{
    struct sigaction without;
    uint8_t before = signal > 0 && signal < SIGNALS ? masks_ours[signal] : 0;
    if (wanted) {
        without = *wanted;
        sigdelset(&without.sa_mask, ours());
    }
    int result = REAL(sigaction)(signal, wanted ? &without : NULL, old);
    if (result != 0)
        return result;
    if (old && before)
        sigaddset(&old->sa_mask, ours());
    if (wanted && signal > 0 && signal < SIGNALS)
        masks_ours[signal] = (uint8_t)(sigismember(&wanted->sa_mask, ours()) == 1);
    return 0;
}

EXPORT int sigaction(int signal, const struct sigaction *restrict wanted,
                     struct sigaction *restrict old)
{
    if (!active())
        return REAL(sigaction)(signal, wanted, old);
    if (signal != ours())
        return action_set(signal, wanted, old);
    struct sigaction before = program_action;
    if (wanted)
        program_action = *wanted;
    if (old)
        *old = before;
    return 0;
}

static sighandler_t handler_set(int signal, sighandler_t handler, unsigned flags)
{
    struct sigaction wanted = {.sa_handler = handler, .sa_flags = (int)flags}, old;
    sigemptyset(&wanted.sa_mask);
    if (!(flags & SA_RESETHAND))
        sigaddset(&wanted.sa_mask, signal);
    if (sigaction(signal, &wanted, &old) != 0)
        return SIG_ERR;
    return old.sa_handler;
}

EXPORT sighandler_t signal(int number, sighandler_t handler)
{
    if (!active() || number != ours())
        return REAL(signal)(number, handler);
    return handler_set(number, handler, SA_RESTART);
}

EXPORT sighandler_t sysv_signal(int number, sighandler_t handler)
{
    if (!active() || number != ours())
        return REAL(sysv_signal)(number, handler);
    return handler_set(number, handler, SA_RESETHAND | SA_NODEFER);
}

/* Blocking our signal is remembered, not done. */
static bool believe(int how, const sigset_t *set, sigset_t *without)
{
    bool before = believed_blocked;
    *without = *set;
    bool member = sigismember(set, ours()) == 1;
    if (how == SIG_SETMASK)
        believed_blocked = member;
    else if (member)
        believed_blocked = how == SIG_BLOCK;
    sigdelset(without, ours());
    return before;
}

typedef int mask_function(int, const sigset_t *, sigset_t *);

static int mask_change(mask_function *real, int how, const sigset_t *set, sigset_t *old)
{
    sigset_t without;
    bool before = believed_blocked;
    if (!active())
        return real(how, set, old);
    if (set && (how == SIG_BLOCK || how == SIG_UNBLOCK || how == SIG_SETMASK))
        before = believe(how, set, &without);
    else if (set)
        without = *set;
    int result = real(how, set ? &without : NULL, old);
    if (result == 0 && old && before)
        sigaddset(old, ours());
    return result;
}

EXPORT int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    return mask_change(&REAL(sigprocmask), how, set, old);
}

EXPORT int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    return mask_change(&REAL(pthread_sigmask), how, set, old);
}

void signals_before_exec(void)
{
    sigset_t set;
    if (program_action.sa_handler == SIG_IGN) {
        struct sigaction ignore = {.sa_handler = SIG_IGN};
        REAL(sigaction)(ours(), &ignore, NULL);
    }
    if (believed_blocked) {
        sigemptyset(&set);
        sigaddset(&set, ours());
        REAL(sigprocmask)(SIG_BLOCK, &set, NULL);
    }
}

void signals_after_failed_exec(void)
{
    struct sigaction keep = program_action;
    bool blocked = believed_blocked;
    signals_install();
    program_action = keep;
    believed_blocked = blocked;
}
