#include "runtime/interpose/signals_mask.h"

#include <asm/prctl.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "runtime/carrier/carrier.h"
#include "runtime/trigger/interrupted.h"
#include "runtime/interpose/pointers.h"
#include "runtime/interpose/real.h"
#include "runtime/interpose/signals.h"
#include "runtime/interpose/signals_held.h"
#include "runtime/interpose/vfork.h"
#include "runtime/process.h"
#include "runtime/runtime.h"
#include "runtime/self.h"
#include "runtime/thread.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/sys.h"

enum { MASK_SIZE = 8, SLOT_WAKE = 0x7fffffff, CODE_TRAP_PERF = 6 };

/* What the program believes of our signal's mask in this thread. A vfork child runs on its parent's
 * thread-local storage, but its mask is its own. */
static _Thread_local struct {
    bool blocked;
    struct signals_belief child;
} belief __attribute__((tls_model("initial-exec")));
static bool yields; /* atomic */

bool signals_active_as(void)
{
    return rt_profiled_as() && carrier_samples_as();
}

int signals_number_as(void)
{
    return (int)rt.config->signal;
}

static uint64_t bit_as(void)
{
    return UINT64_C(1) << (signals_number_as() - 1);
}

/* A child of a child begins with what that one believes. */
static void belief_inherit(int32_t pid)
{
    bool asks = belief.child.pid && belief.child.pid != guest.pid && !rt_quiet_as() &&
                !vfork_is_confined_as();
    if (!asks || belief.child.pid != (int32_t)sys_call3_as(SYS_getppid, 0, 0, 0))
        belief.child = (struct signals_belief){.blocked = belief.blocked};
    belief.child.pid = pid;
}

static bool *believed_as(void)
{
    int32_t pid = process_number_as();
    if (pid == guest.pid)
        return &belief.blocked;
    if (belief.child.pid != pid)
        belief_inherit(pid);
    return &belief.child.blocked;
}

void signals_belief_of_child(void)
{
    belief_inherit(process_number_as());
}

struct signals_belief *signals_belief_child(void)
{
    return &belief.child;
}

bool *signals_believed_as(void)
{
    uint64_t fs = 0;
    sys_call3_as(SYS_arch_prctl, ARCH_GET_FS, (long)&fs, 0);
    return fs ? believed_as() : NULL;
}

void signals_believe_as(bool blocked)
{
    bool *now = believed_as();
    struct rt_thread *t = self_get();
    *now = blocked;
    if (t && now == &belief.blocked)
        __atomic_store_n(&t->mask.trap_blocked, blocked, __ATOMIC_SEQ_CST);
}

bool signals_believed_blocked(void)
{
    return belief.blocked;
}

void signals_believe_blocked(bool blocked)
{
    belief.blocked = blocked;
}

uint64_t signals_mask_of(const sigset_t *set)
{
    uint64_t mask;
    __builtin_memcpy(&mask, set, sizeof mask);
    return mask;
}

bool signals_mask_real_as(int how)
{
    uint64_t set = bit_as(), old = 0;
    return sys_call6_as(SYS_rt_sigprocmask, how, (long)&set, (long)&old, MASK_SIZE, 0, 0) == 0 &&
           old & set;
}

bool signals_child_acts_as(void)
{
    return believed_as() == &belief.child.blocked && belief.child.acts;
}

void signals_child_act(void)
{
    if (*believed_as())
        signals_mask_real_as(SIG_BLOCK);
    belief.child.acts = true;
}

/* A signal that is pending is taken for one that the program has blocked: so belief comes first. */
void signals_mask_begin(void)
{
    belief.blocked = signals_mask_real_as(SIG_BLOCK);
    signals_mask_real_as(SIG_UNBLOCK);
}

/* ---- keeping ---- */

bool signals_is_wake_as(uint64_t value)
{
    return (uint32_t)value == SLOT_WAKE;
}

/* One that may have the signal now: it waits for it, or has not blocked it. */
static bool is_ready_as(const struct rt_thread *t)
{
    return t->tid && (__atomic_load_n(&t->mask.trap_awaited, __ATOMIC_SEQ_CST) ||
                      !__atomic_load_n(&t->mask.trap_blocked, __ATOMIC_SEQ_CST));
}

/* Sent to the process, the kernel gives it to any thread of ours; the program may mean another
 * one. */
static void other_wake_as(int signal)
{
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE);
    long pid = sys_call3_as(SYS_getpid, 0, 0, 0), self = sys_call3_as(SYS_gettid, 0, 0, 0);
    siginfo_t info = {.si_signo = signal, .si_code = SI_QUEUE};
    if (pid != guest.pid)
        return;
    info.si_value.sival_ptr = (void *)((uint64_t)rt.cookie << 32 | SLOT_WAKE);
    for (uint32_t i = 0; i < used; i++) {
        const struct rt_thread *t = thread_at_as(i);
        if (t && t->tid != self && is_ready_as(t) &&
            sys_call6_as(SYS_rt_tgsigqueueinfo, pid, t->tid, signal, (long)&info, 0, 0) == 0)
            return;
    }
}

bool signals_wake_as(siginfo_t *info)
{
    const bool *blocked = held_here_as() ? signals_believed_as() : NULL;
    return blocked && !*blocked && held_take_as(info);
}

/* Blocked for the kernel from now on, and pending there. Only to itself can a thread send any
 * siginfo; the main thread to the process, too. */
static void block_as(int signal, const siginfo_t *info, ucontext_t *u)
{
    struct rt_thread *t = self_get();
    long pid = sys_call3_as(SYS_getpid, 0, 0, 0), tid = sys_call3_as(SYS_gettid, 0, 0, 0);
    uint64_t mask = signals_mask_of(&u->uc_sigmask) | bit_as();
    for (unsigned i = 0; i < sizeof mask; i++)
        ((uint8_t *)&u->uc_sigmask)[i] = (uint8_t)(mask >> (8 * i));
    if (t)
        trigger_pause_as(t);
    trigger_pause_discovery_as();
    if (!held_is_shared_as(info) ||
        sys_call6_as(SYS_rt_sigqueueinfo, pid, signal, (long)info, 0, 0, 0) != 0)
        sys_call6_as(SYS_rt_tgsigqueueinfo, pid, tid, signal, (long)info, 0, 0);
}

static bool is_fault(const siginfo_t *info)
{
    return info->si_code > 0 && info->si_code != CODE_TRAP_PERF;
}

static bool is_blocked_as(void)
{
    const bool *blocked = rt_quiet_as() || !carrier_samples_as() ? NULL : signals_believed_as();
    return blocked && *blocked;
}

bool signals_is_forced_as(const siginfo_t *info)
{
    return is_fault(info) && is_blocked_as();
}

bool signals_hold_as(int signal, const siginfo_t *info, void *context)
{
    if (is_fault(info) || !is_blocked_as())
        return false;
    interrupted_again_as(context);
    interrupted_repair_as(context);
    if (signals_yield_as() || !held_keep_as(info))
        block_as(signal, info, context);
    else if (held_is_shared_as(info))
        other_wake_as(signal);
    return true;
}

void signals_wait_for(bool on)
{
    struct rt_thread *t = self_get();
    if (t)
        __atomic_store_n(&t->mask.trap_awaited, on, __ATOMIC_SEQ_CST);
}

bool signals_yield_as(void)
{
    return __atomic_load_n(&yields, __ATOMIC_ACQUIRE);
}

/* The trigger of a thread that has blocked the signal for the kernel: nothing of ours may be
 * pending. That of a child in our memory ends; in a copy of it there is none. */
static void yield_note(bool blocked)
{
    bool foreign = process_foreign_as();
    struct rt_thread *t = foreign ? NULL : self_get();
    if (foreign && blocked)
        vfork_child_unsample_as();
    else if (t && blocked)
        trigger_pause_as(t);
    else if (t)
        trigger_resume_as(t);
}

void signals_yield_begin(void)
{
    const bool *blocked = signals_believed_as();
    __atomic_store_n(&yields, true, __ATOMIC_RELEASE);
    trigger_pause_discovery_as();
    if (!blocked || !*blocked)
        return;
    yield_note(true);
    signals_mask_real_as(SIG_BLOCK);
    held_release_as(signals_number_as());
}

/* ---- non-local exits ---- */

#define SAVED_MAGIC UINT64_C(0x50656e756d627261)

static uint64_t *saved_word(const sigset_t *saved)
{
    return (uint64_t *)(uintptr_t)(saved + 1) - 1;
}

void signals_belief_save(sigset_t *saved)
{
    if (signals_active_as())
        *saved_word(saved) = SAVED_MAGIC ^ *believed_as();
}

void signals_belief_restore(const sigset_t *saved)
{
    uint64_t word = *saved_word(saved) ^ SAVED_MAGIC;
    if (!signals_active_as() || word > 1 || *believed_as() == word)
        return;
    signals_believe_as(word);
    if (signals_yield_as())
        yield_note(word);
    if (!word)
        held_release_as(signals_number_as());
}

/* ---- what the program calls ---- */

typedef int mask_function(int, const sigset_t *, sigset_t *);

/* Whether it has failed because there is no place for the old mask: then the new one is in
 * force. */
static bool is_unanswered(int result)
{
    return result == EFAULT || (result == -1 && errno == EFAULT);
}

/* What is believed after a change that the kernel has made. Where our signal was blocked
 * nevertheless, by the mask of a handler, the program's wishes are done. */
static void believe_change(int how, bool member, bool was_real)
{
    bool before = *believed_as(), now = member && how != SIG_UNBLOCK;
    if (!member && how != SIG_SETMASK)
        return;
    if (!before && was_real && !signals_yield_as()) {
        if (member && how == SIG_SETMASK)
            signals_mask_real_as(SIG_BLOCK);
        return;
    }
    signals_believe_as(now);
    if (signals_yield_as())
        yield_note(now);
    if (before && !now)
        held_release_as(signals_number_as());
}

/* Blocking our signal is remembered, not done. */
static int mask_change(mask_function *real, int how, const sigset_t *set, sigset_t *old)
{
    if (!signals_active_as())
        return real(how, set, old);
    uint64_t wanted = set ? signals_mask_of(set) : 0, given_mask = wanted, was = 0;
    bool before = *believed_as();
    sigset_t given, scratch;
    if (how != SIG_UNBLOCK && !signals_yield_as() && !signals_child_acts_as())
        given_mask &= ~bit_as();
    sigemptyset(&given);
    __builtin_memcpy(&given, &given_mask, sizeof given_mask);
    bool yields_now = signals_yield_as() && !before && how != SIG_UNBLOCK && wanted & bit_as();
    if (yields_now) /* first: a sample that comes once the signal is blocked stays pending */
        yield_note(true);
    int result = real(how, given_mask == wanted ? set : &given, old ? old : &scratch);
    int error = errno;
    if (result != 0 && (!old || !is_unanswered(result))) {
        if (yields_now)
            yield_note(false);
        errno = error;
        return result;
    }
    if (result == 0)
        was = signals_mask_of(old ? old : &scratch);
    if (result == 0 && old && before)
        __builtin_memcpy(old, &(uint64_t){was | bit_as()}, sizeof was);
    if (set)
        believe_change(how, wanted & bit_as(), was & bit_as());
    errno = error;
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

static int mask_real(int how, const sigset_t *set, sigset_t *old)
{
    long result = sys_call6_as(SYS_rt_sigprocmask, how, (long)set, (long)old, MASK_SIZE, 0, 0);
    return result < 0 ? (int)call_failed(result) : 0;
}

/* What interpose/syscall.S hands on. */
long sigprocmask_by_number(long number, long how, const sigset_t *set, sigset_t *old, long size);
long sigprocmask_by_number(long number, long how, const sigset_t *set, sigset_t *old, long size)
{
    if (signals_active_as() && !rt_quiet_as() && size == MASK_SIZE)
        return set && !pointer_readable_as(set, MASK_SIZE)
                   ? call_failed(-EFAULT)
                   : mask_change(mask_real, (int)how, set, old);
    long result = sys_call6_as(number, how, (long)set, (long)old, size, 0, 0);
    return result < 0 ? call_failed(result) : result;
}

long sigpending_by_number(long number, sigset_t *set, long size);
long sigpending_by_number(long number, sigset_t *set, long size)
{
    if (size == MASK_SIZE)
        return sigpending(set);
    long result = sys_call3_as(number, (long)set, size, 0);
    return result < 0 ? call_failed(result) : result;
}

/* The kernel has one of ours pending for a moment, where a handler's mask blocks it; and what it
 * has of the program's only where the signal is blocked for it, too. */
EXPORT int sigpending(sigset_t *set)
{
    int result = REAL(sigpending)(set);
    if (result != 0 || !signals_active_as())
        return result;
    uint64_t pending = signals_mask_of(set);
    if (!signals_yield_as() && !signals_child_acts_as())
        pending &= ~bit_as();
    if (*believed_as() && held_here_as())
        pending |= bit_as();
    __builtin_memcpy(set, &pending, sizeof pending);
    return result;
}
