#include "runtime/sandbox_filter.h"

#include <signal.h>
#include <sys/uio.h>
#include <time.h>

#include "runtime/carrier/barrier_look.h"
#include "runtime/carrier/handler.h"
#include "runtime/interpose/signals.h"
#include "runtime/process.h"
#include "runtime/sandbox.h"
#include "runtime/thread.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/filter.h"
#include "sigsafe/sys.h"

enum { LOOKS = 2000, LOOK_NS = 1000000 };

/* Under `lock`: where filters are looked at. Not touched, and so no memory, in programs that have none. */
static uint32_t lock;
static struct sock_filter code[BPF_MAXINSNS];
static struct filter_state states[BPF_MAXINSNS];
static uint32_t filters_seen; /* atomic: those that do not let rt_sigreturn through; a number for each */
static bool blind;            /* atomic: a filter is there under which no other one can be looked at */
static bool no_actions;       /* atomic: one is there that does not let rt_sigaction through */

static void wait_a_little(void)
{
    const struct timespec look = {0, LOOK_NS};
    sys_call3_as(SYS_nanosleep, (long)&look, 0, 0);
}

static bool lock_take(void)
{
    for (int i = 0; i < LOOKS; i++) {
        if (!__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
            return true;
        wait_a_little();
    }
    return false; /* its holder does not go on */
}

/* ---- looking ---- */

static bool memory_read(void *to, uint64_t from, uint64_t size)
{
    struct iovec local = {to, size}, remote = {(void *)from, size};
    return sys_call6_as(SYS_process_vm_readv, rt.pid, (long)&local, 1, (long)&remote, 1, 0) == (long)size;
}

/* How many instructions there are in `code` now; 0: the filter cannot be read, or is none. */
static uint32_t filter_read(uint64_t program)
{
    struct sock_fprog f;
    if (!memory_read(&f, program, sizeof f) || f.len > BPF_MAXINSNS ||
        !memory_read(code, (uint64_t)f.filter, f.len * sizeof *code))
        return 0;
    return f.len;
}

/* All that this file and what it calls asks the kernel for. */
static bool lets_look(uint32_t count)
{
    static const uint16_t calls[] = {
        SYS_process_vm_readv, SYS_getpid,           SYS_gettid, SYS_ioctl, SYS_timer_settime, SYS_rt_sigtimedwait,
        SYS_rt_sigaction,     SYS_rt_tgsigqueueinfo, SYS_openat, SYS_read,  SYS_close,         SYS_nanosleep};
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
        if (!filter_lets_as(code, count, calls[i], states))
            return false;
    return true;
}

/* ---- silencing ---- */

/* The program may have blocked our signal by a system call of its own: one that waits for this thread is not to come any
 * more. Another one of that number is the program's. */
static void pending_drop(void)
{
    const struct timespec now = {0, 0};
    uint64_t set = UINT64_C(1) << (rt.config->signal - 1);
    siginfo_t info;
    while (sys_call6_as(SYS_rt_sigtimedwait, (long)&set, (long)&info, (long)&now, sizeof set, 0, 0) > 0) {
        if (handler_is_ours(&info))
            continue;
        sys_call6_as(SYS_rt_tgsigqueueinfo, rt.pid, sys_call3_as(SYS_gettid, 0, 0, 0), info.si_signo,
                     (long)&info, 0, 0);
        return;
    }
}

/* Samples are calls of the program's, which no filter has anything against: they make no system calls there, and no signals. */
static bool makes_calls(void)
{
    return rt.process->mechanism == MECHANISM_CALLS;
}

/* Its signals that were on their way arrive in the calling thread before this returns. */
static void silence(struct rt_thread *t, struct sandbox_filter *f)
{
    if (!t || t->silenced || !(trigger_is_armed_as(t) || makes_calls()))
        return;
    t->silenced = f->silenced;
    trigger_silence_as(t);
    __atomic_fetch_add(&rt.process->sandbox_silenced, 1, __ATOMIC_RELAXED);
}

/* From the kernel's beginning of our handler to its end all signals are blocked, libc's own too, which hardly anybody else
 * blocks. */
static bool in_handler(const struct rt_thread *t)
{
    enum { SETXID = 33 };
    return barrier_blocks_as(t->tid, SETXID);
}

static void handlers_await(const struct rt_thread *self)
{
    int looks = LOOKS;
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < used; i++) {
        const struct rt_thread *t = thread_at_as(i);
        for (; t && t != self && in_handler(t) && looks; looks--)
            wait_a_little();
    }
}

/* A signal that was raised for a thread that sleeps in the kernel comes when it wakes up: unless it is ignored. */
static void silence_all(const struct rt_thread *self, struct sandbox_filter *f)
{
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < used; i++)
        silence(thread_at_as(i), f);
    signals_ignore(true);
    handlers_await(self);
}

static void samples_end(struct sandbox_filter *f)
{
    struct rt_thread *self = thread_find_as((int32_t)sys_call3_as(SYS_gettid, 0, 0, 0));
    f->silenced = __atomic_add_fetch(&filters_seen, 1, __ATOMIC_RELAXED);
    trigger_seek_stop_as();
    trigger_pause_discovery_as();
    silence(self, f);
    if (f->all)
        silence_all(self, f);
    pending_drop();
}

static bool is_sampled(void)
{
    return rt.process && !rt_exact_as() && !__atomic_load_n(&blind, __ATOMIC_RELAXED) && !process_foreign_as();
}

/* ---- the program's call ---- */

struct sandbox_filter sandbox_thread_comes(void)
{
    struct sandbox_filter f = {.all = false};
    if (!is_sampled())
        return f;
    f.looked = f.lets_look = f.lets_actions = true;
    f.first = sandbox_may_begin();
    f.locked = lock_take();
    samples_end(&f);
    return f;
}

struct sandbox_filter sandbox_filter_comes(uint64_t program, bool all)
{
    struct sandbox_filter f = {.all = all};
    if (!program || !rt_quiet_as() || !is_sampled() || makes_calls())
        return f;
    f.looked = true;
    f.locked = lock_take();
    uint32_t count = f.locked ? filter_read(program) : 0;
    f.lets_actions = count && filter_lets_as(code, count, SYS_rt_sigaction, states);
    if (count && filter_lets_as(code, count, SYS_rt_sigreturn, states)) {
        f.lets_look = lets_look(count);
        return f;
    }
    f.lets_look = count && lets_look(count);
    samples_end(&f);
    return f;
}

static void triggers_resume(const struct sandbox_filter *f)
{
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE);
    if (f->all)
        signals_ignore(false);
    for (uint32_t i = 0; i < used; i++) {
        struct rt_thread *t = thread_at_as(i);
        if (!t || t->silenced != f->silenced)
            continue;
        t->silenced = 0;
        __atomic_fetch_sub(&rt.process->sandbox_silenced, 1, __ATOMIC_RELAXED);
        if (!t->stack_short)
            trigger_resume_as(t);
    }
}

void sandbox_filter_came(const struct sandbox_filter *f, bool is_there)
{
    if (!f->looked)
        return;
    if (is_there && !f->lets_look)
        __atomic_store_n(&blind, true, __ATOMIC_RELAXED);
    if (is_there && !f->lets_actions)
        __atomic_store_n(&no_actions, true, __ATOMIC_RELAXED);
    if (is_there && f->first)
        sandbox_granted_as();
    if (!is_there && f->first && sandbox_refused())
        process_events_resume(NULL);
    if (!is_there && f->silenced)
        triggers_resume(f);
    if (f->locked)
        __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

/* Under the one that cannot be looked at there may be others. */
bool sandbox_lets_actions(void)
{
    return !__atomic_load_n(&no_actions, __ATOMIC_RELAXED) && !__atomic_load_n(&blind, __ATOMIC_RELAXED);
}

void sandbox_filter_fork_child(void)
{
    lock = 0;
}
