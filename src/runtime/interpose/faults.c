#include "runtime/interpose/faults.h"

#include <stddef.h>
#include <ucontext.h>

#include "runtime/carrier/carrier.h"
#include "runtime/interpose/alternate.h"
#include "runtime/interpose/real.h"
#include "runtime/runtime.h"
#include "sigsafe/sys.h"

enum { FAULTS = 4, KERNEL_SET = 8 };
static const int faults[FAULTS] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
static struct sigaction program[FAULTS]; /* what the program set */
static bool installed;

/* The kernel's struct sigaction. */
struct kernel_sigaction {
    uint64_t handler;
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

static int index_of(int signal)
{
    for (int i = 0; i < FAULTS; i++)
        if (faults[i] == signal)
            return i;
    return -1;
}

bool faults_ours(int signal)
{
    return installed && index_of(signal) >= 0;
}

uint64_t faults_set(void)
{
    uint64_t set = 0;
    for (int i = 0; i < FAULTS; i++)
        set |= UINT64_C(1) << (faults[i] - 1);
    return set;
}

void faults_default_as(int signal)
{
    struct kernel_sigaction action = {0};
    sys_call6_as(SYS_rt_sigaction, signal, (long)&action, 0, KERNEL_SET, 0, 0);
}

void faults_requeue_as(int signal, const siginfo_t *info)
{
    long pid = sys_call3_as(SYS_getpid, 0, 0, 0), tid = sys_call3_as(SYS_gettid, 0, 0, 0);
    sys_call6_as(SYS_rt_tgsigqueueinfo, pid, tid, signal, (long)info, 0, 0);
}

/* An instruction that faulted faults again when the handler returns; a signal that was sent has to
 * be sent once more. */
static void chain_default(int signal, const siginfo_t *info)
{
    faults_default_as(signal);
    if (info->si_code <= 0)
        faults_requeue_as(signal, info);
}

static void fault_as(int signal, siginfo_t *info, void *context)
{
    if (CARRIER_ASK(fault_as, (signal, info, context)))
        return;
    struct sigaction *now = &program[index_of(signal)], action = *now;
    if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) {
        chain_default(signal, info);
        return;
    }
    if ((unsigned)action.sa_flags & SA_RESETHAND)
        now->sa_handler = SIG_DFL;
    alternate_deliver_as((uint64_t)(uintptr_t)action.sa_handler,
                         (unsigned)action.sa_flags & SA_ONSTACK, signal, info, context);
}

bool faults_is_ours(const struct sigaction *action)
{
    return action->sa_sigaction == fault_as;
}

struct sigaction faults_installed(int signal, const struct sigaction *wanted)
{
    struct sigaction ours = *wanted;
    (void)signal;
    if (wanted->sa_handler == SIG_IGN)
        return ours;
    ours.sa_sigaction = fault_as;
    if (wanted->sa_handler == SIG_DFL)
        ours.sa_flags = SA_ONSTACK | SA_RESTART;
    ours.sa_flags = (int)(((unsigned)ours.sa_flags & ~SA_RESETHAND) | SA_SIGINFO);
    return ours;
}

void faults_note(int signal, const struct sigaction *wanted)
{
    program[index_of(signal)] = *wanted;
}

struct sigaction faults_program(int signal)
{
    return program[index_of(signal)];
}

void faults_answer(struct sigaction *answer, const struct sigaction *before)
{
    if (answer->sa_sigaction != fault_as)
        return;
    answer->sa_sigaction = before->sa_sigaction;
    answer->sa_flags = before->sa_flags;
}

void faults_install(void)
{
    for (int i = 0; i < FAULTS; i++) {
        struct sigaction now;
        if (REAL(sigaction)(faults[i], NULL, &now) != 0 || now.sa_sigaction == fault_as)
            continue;
        program[i] = now;
        struct sigaction ours = faults_installed(faults[i], &now);
        /* libc would set a flag: what is ignored may come from an exec, without it. */
        if (ours.sa_sigaction == fault_as)
            REAL(sigaction)(faults[i], &ours, NULL);
    }
    installed = true;
}

void faults_uninstall(void)
{
    if (!installed)
        return;
    installed = false;
    for (int i = 0; i < FAULTS; i++) {
        struct sigaction now;
        if (REAL(sigaction)(faults[i], NULL, &now) == 0 && now.sa_sigaction == fault_as)
            REAL(sigaction)(faults[i], &program[i], NULL);
    }
}

bool faults_held_as(void)
{
    static uint32_t turn;
    int i = (int)(__atomic_fetch_add(&turn, 1, __ATOMIC_RELAXED) % FAULTS);
    struct kernel_sigaction now = {0};
    if (program[i].sa_handler == SIG_IGN)
        return true;
    sys_call6_as(SYS_rt_sigaction, faults[i], 0, (long)&now, KERNEL_SET, 0, 0);
    return now.handler == (uint64_t)(uintptr_t)fault_as;
}
