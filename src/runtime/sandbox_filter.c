#include "runtime/sandbox_filter.h"

#include <asm-generic/errno-base.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <time.h>

#include "runtime/carrier/carrier.h"
#include "runtime/interpose/environment.h"
#include "runtime/interpose/signals.h"
#include "runtime/process.h"
#include "runtime/sandbox.h"
#include "runtime/sandbox_calls.h"
#include "runtime/sandbox_outside.h"
#include "runtime/self.h"
#include "runtime/tasks.h"
#include "runtime/thread.h"
#include "runtime/trigger/delivery.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/filter.h"
#include "sigsafe/sys.h"

enum { LOOKS = 2000, LOOK_NS = 1000000 };

/* Under `lock`: where filters are looked at. Not touched, and so no memory, in programs that have
 * none. */
static uint32_t lock;
static struct sock_filter code[BPF_MAXINSNS];
static struct filter_state states[BPF_MAXINSNS];
static uint32_t filters_noted; /* atomic: how many have come for all threads */
static uint32_t filters_seen; /* atomic: those that samples have ended before; a number for each */
static bool unended;          /* atomic: samples of a thread could not be ended */
/* atomic: rt_thread.denied of all threads, also of those that are not observed */
static uint32_t denied;
/* atomic: what a filter does not let through that is about to come for all threads */
static uint32_t coming;

/* All that this file and what it calls asks the kernel for. */
enum call { CALL_READ, CALL_PROBE, CALL_PID, CALL_TID, CALL_CONTROL, CALL_CLOSE, CALL_TIMER,
           CALL_WAIT, CALL_QUEUE, CALL_ACTION,
            CALL_OPEN, CALL_READ_FILE, CALL_SLEEP, CALL_PRCTL, CALL_WAKE, CALL_STACK, CALL_COUNT,
            CALL_DEADLY = CALL_COUNT /* not ours: any that makes samples deadly */ };
static const uint16_t calls[CALL_COUNT] = {
    SYS_process_vm_readv, SYS_rt_sigprocmask, SYS_getpid, SYS_gettid, SYS_ioctl, SYS_close,
        SYS_timer_settime,
    SYS_rt_sigtimedwait, SYS_rt_tgsigqueueinfo, SYS_rt_sigaction, SYS_openat, SYS_read,
        SYS_nanosleep, SYS_prctl, SYS_futex, SYS_sigaltstack};
enum { DENIED_ALL = (1 << CALL_COUNT) - 1 };

static uint32_t bit(enum call call)
{
    return UINT32_C(1) << call;
}

/* Of the calling thread. Who is not observed may have inherited any thread's filters. */
static uint32_t denied_here(void)
{
    const struct rt_thread *t = self_get();
    return __atomic_load_n(t ? &t->filter.denied : &denied, __ATOMIC_RELAXED) |
           __atomic_load_n(&coming, __ATOMIC_SEQ_CST);
}

static bool lets(enum call call)
{
    return !(denied_here() & bit(call)) && !(call == CALL_READ && rt.avoids);
}

/* What sends samples: a thread that switches often has a timer besides other threads' events
 * (trigger/ticks.c), and a process that gets no more events has timers from then on. */
struct senders {
    bool events, timers;
};

static struct senders senders_there(void)
{
    bool timers = guest.process->mechanism == MECHANISM_TIMER;
    struct senders there = {!timers, timers};
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < used; i++) {
        const struct rt_thread *t = thread_at_as(i);
        there.events |= t && t->fd >= 0;
        there.timers |= t && t->timer >= 0;
    }
    return there;
}

/* Ways to end samples, the first best. By prctl: all events that the thread has made, which are all
 * that there are where it is the only thread; the program's own too. */
enum way { WAY_CONTROL, WAY_CLOSE, WAY_PRCTL, WAY_NONE };
static enum way events_way(uint32_t without)
{
    const struct rt_thread *self = self_get();
    if (!(without & bit(CALL_CONTROL)) || !senders_there().events)
        return WAY_CONTROL;
    if (!(without & bit(CALL_CLOSE)))
        return WAY_CLOSE;
    return without & bit(CALL_PRCTL) || !self || self->tid != guest.pid ||
        thread_others_as() ? WAY_NONE : WAY_PRCTL;
}

static enum way way_without(uint32_t without)
{
    return without & bit(CALL_TIMER) && senders_there().timers ? WAY_NONE : events_way(without);
}

/* Whether a filter can be read and samples be ended where these are denied. */
static bool can_look(uint32_t without)
{
    return (!(without & bit(CALL_READ)) || !(without & bit(CALL_PROBE))) &&
           way_without(without) != WAY_NONE;
}

static struct rt_thread *self_find(void)
{
    return lets(CALL_TID) ? thread_find_as((int32_t)sys_call3_as(SYS_gettid, 0, 0, 0)) : self_get();
}

static void wait_a_little(void)
{
    const struct timespec look = {0, LOOK_NS};
    if (lets(CALL_SLEEP))
        sys_call3_as(SYS_nanosleep, (long)&look, 0, 0);
    else
        for (unsigned i = 0; i < LOOK_NS / 100; i++)
            __builtin_ia32_pause();
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

/* A call that fails in any case: before it looks at what is wrong with it, the kernel reads 8 bytes
 * from the page. */
static bool page_is_there(uint64_t page)
{
    enum { NOT_HOW = 99 };
    return sys_call6_as(SYS_rt_sigprocmask, NOT_HOW, (long)page, 0, 8, 0, 0) == -EINVAL;
}

static bool memory_read(void *to, uint64_t from, uint64_t size)
{
    enum { PAGE = 4096 };
    struct iovec local = {to, size}, remote = {(void *)from, size};
    if (lets(CALL_READ))
        return sys_call6_as(SYS_process_vm_readv, guest.pid, (long)&local, 1, (long)&remote, 1,
                            0) == (long)size;
    for (uint64_t page = from / PAGE * PAGE; page < from + size; page += PAGE)
        if (!page_is_there(page))
            return false;
    for (uint64_t i = 0; i < size; i++)
        ((uint8_t *)to)[i] = ((const volatile uint8_t *)from)[i];
    return true;
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

static bool may(uint32_t count, uint32_t number)
{
    return filter_may_as(code, count, number, NULL, states);
}

/* Whether another filter may come behind this one, or what else samples are to have ended
 * before. */
static bool may_deadly(uint32_t count)
{
    static const uint32_t options[] = {PR_SET_SECCOMP, PR_SET_TSC, PR_SET_SYSCALL_USER_DISPATCH};
    for (unsigned i = 0; i < sizeof options / sizeof *options; i++)
        if (filter_may_as(code, count, SYS_prctl, &options[i], states))
            return true;
    return may(count, SYS_seccomp) || may(count, SYS_ptrace) || may(count, SYS_execve) ||
           may(count, SYS_execveat);
}

/* 0: of a filter that could not be read. */
static uint32_t denied_by(uint32_t count)
{
    uint32_t result = count && !may_deadly(count) ? bit(CALL_DEADLY) : 0;
    for (unsigned i = 0; i < CALL_COUNT; i++)
        if (!count || !filter_lets_as(code, count, calls[i], states))
            result |= bit(i);
    return result;
}

/* ---- silencing ---- */

/* The program may have blocked our signal by a system call of its own: one that waits for this
 * thread is not to come any more. Another one of that number is the program's. */
static void pending_drop(void)
{
    const struct timespec now = {0, 0};
    uint64_t set = UINT64_C(1) << (rt.config->signal - 1);
    siginfo_t info;
    if (!lets(CALL_WAIT) || !lets(CALL_QUEUE) || !lets(CALL_TID))
        return;
    while (sys_call6_as(SYS_rt_sigtimedwait, (long)&set, (long)&info, (long)&now, sizeof set, 0,
                        0) > 0) {
        if (handler_is_ours(&info))
            continue;
        sys_call6_as(SYS_rt_tgsigqueueinfo, guest.pid, sys_call3_as(SYS_gettid, 0, 0, 0),
                     info.si_signo,
                     (long)&info, 0, 0);
        return;
    }
}

/* Samples are calls of the program's, which no filter has anything against: they make no system
 * calls there, and no signals. */
static bool makes_calls(void)
{
    return guest.process->mechanism == MECHANISM_CALLS;
}

/* t: NULL: only the process's events of discovery. */
static void events_end(struct rt_thread *t, enum way way)
{
    if (way == WAY_CLOSE)
        trigger_abandon_as(t);
    if (way == WAY_CONTROL && t)
        trigger_silence_events_as(t);
    /* without events there is none to control */
    if (way != WAY_CONTROL || t || !lets(CALL_CONTROL))
        return;
    trigger_seek_stop_as();
    trigger_pause_discovery_as();
}

static void trigger_end(struct rt_thread *t)
{
    enum way way = way_without(denied_here());
    if (way != WAY_NONE)
        trigger_stop_timer_as(t);
    else
        __atomic_store_n(&unended, true, __ATOMIC_RELAXED);
    events_end(t, way);
    if (way == WAY_PRCTL)
        sys_call3_as(SYS_prctl, PR_TASK_PERF_EVENTS_DISABLE, 0, 0);
}

/* Its signals that were on their way arrive in the calling thread before this returns. Who has its
 * trigger from outside is only asked: outside_await. */
static void silence(struct rt_thread *t, struct sandbox_filter *f)
{
    if (!t || t->filter.silenced || !(trigger_any_armed_as(t) || t->outside.may || makes_calls()))
        return;
    __atomic_store_n(&t->filter.silenced, f->silenced, __ATOMIC_SEQ_CST);
    if (t->outside.may)
        outside_ask(t);
    else
        trigger_end(t);
    __atomic_fetch_add(&guest.process->sandbox_silenced, 1, __ATOMIC_RELAXED);
}

/* From the kernel's beginning of our handler to its end all signals are blocked, libc's own too,
 * which hardly anybody else blocks. */
static bool in_handler(const struct rt_thread *t)
{
    enum { SETXID = 33 };
    if (lets(CALL_OPEN) && lets(CALL_READ_FILE) && lets(CALL_CLOSE))
        return task_blocks_as(t->tid, SETXID);
    return __atomic_load_n(&t->inside, __ATOMIC_SEQ_CST);
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

/* A signal that was raised for a thread that sleeps in the kernel comes when it wakes up: unless it
 * is ignored. */
static void silence_all(const struct rt_thread *self, struct sandbox_filter *f)
{
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < used; i++)
        silence(thread_at_as(i), f);
    if (lets(CALL_ACTION))
        signals_ignore(true);
    handlers_await(self);
}

/* Entries of ours that have looked at what is let through, before a filter comes for all that lets
 * less through. */
static void entries_await(void)
{
    for (int i = 0; i < LOOKS && __atomic_load_n(&rt.inside, __ATOMIC_SEQ_CST); i++)
        wait_a_little();
}

static void samples_end(struct sandbox_filter *f)
{
    f->silenced = __atomic_add_fetch(&filters_seen, 1, __ATOMIC_SEQ_CST);
    events_end(NULL, events_way(denied_here()));
    silence(f->self, f);
    if (f->ends_all)
        silence_all(f->self, f);
    if (!outside_await(f->ends_all ? NULL : f->self) && lets(CALL_ACTION))
        signals_ignore(true);
    pending_drop();
}

static bool has_samples(void)
{
    return rt_profiled_as() && carrier_samples_as() && !process_foreign_as();
}

static bool is_sampled(void)
{
    return has_samples() && can_look(denied_here());
}

/* The calling thread: to end its samples takes no system call. */
static bool is_outside(void)
{
    const struct rt_thread *t = rt_profiled_as() ? self_get() : NULL;
    return t && t->outside.may && !process_foreign_as();
}

/* ---- the program's call ---- */

struct sandbox_filter sandbox_thread_comes(bool no_calls)
{
    struct sandbox_filter f = {.denies = no_calls ? DENIED_ALL : 0};
    if (!is_sampled() && !is_outside())
        return f;
    f.looked = true;
    f.self = self_find();
    f.first = sandbox_may_begin();
    f.locked = lock_take();
    samples_end(&f);
    return f;
}

/* From now on nobody makes them, nor does a program that is executed. */
static void calls_avoid(void)
{
    if (__atomic_exchange_n(&rt.avoids, true, __ATOMIC_SEQ_CST))
        return;
    environment_avoid();
    sandbox_await();
}

bool sandbox_filter_passes(uint64_t program, bool all, struct sandbox_filter *f)
{
    if (!program || rt_quiet_as() || !rt_profiled_as())
        return false;
    process_adopt();
    if (!is_sampled() || !lock_take())
        return false;
    bool avoid = !rt.carrier->translates;
    uint32_t count = filter_read(program);
    if (!count || !sandbox_calls_pass_as(code, count, rt.carrier->system_calls, &avoid, states)) {
        __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
        return false;
    }
    if (avoid)
        calls_avoid();
    *f = (struct sandbox_filter){.looked = true, .all = all, .self = self_find(),
                                 .denies = denied_by(count), .locked = true};
    if (all)
        f->denies |= denied_here();
    return true;
}

/* Whether one that comes for all behind it could end nobody's samples. */
static bool cannot_later(uint32_t without, uint32_t count)
{
    return !can_look(without) && way_without(without) == WAY_NONE && without & bit(CALL_ACTION) &&
           (!count || may(count, SYS_seccomp));
}

/* Whether samples are to end before the filter. One for all threads hands on the earlier ones of
 * its thread, which may be such. */
static bool ends_samples(const struct sandbox_filter *f, uint32_t count)
{
    if (f->all && (f->self ? f->self->filter.silenced : sandbox_endings_as()))
        return true;
    return !count || !filter_lets_as(code, count, SYS_rt_sigreturn, states) ||
           (!can_look(denied_here() | f->denies) && may_deadly(count));
}

struct sandbox_filter sandbox_filter_comes(uint64_t program, bool all)
{
    struct sandbox_filter f = {.all = all, .ends_all = all};
    /* it has our memory, and the filter alone */
    bool theirs = rt_profiled_as() && process_foreign_as() && !process_is_copy_as();
    if (!program || !rt_quiet_as() || !rt_profiled_as() || vfork_is_child_as() || theirs)
        return f;
    bool has = has_samples() && !makes_calls(), looks = has && can_look(denied_here()),
         ends = has && all;
    f.looked = true;
    f.self = looks ? self_find() : self_get();
    f.denies = DENIED_ALL; /* where nobody looks at it: the calling thread's samples have ended */
    f.locked = (looks || ends) && lock_take();
    if (looks) {
        uint32_t count = f.locked ? filter_read(program) : 0;
        f.denies = denied_by(count) | (all ? denied_here() : 0);
        f.ends_all |= cannot_later(denied_here() | f.denies, count);
        ends = ends_samples(&f, count);
    }
    if (ends)
        samples_end(&f);
    if (all) {
        __atomic_store_n(&coming, f.denies, __ATOMIC_SEQ_CST);
        entries_await();
    }
    return f;
}

static void triggers_resume(const struct sandbox_filter *f)
{
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE);
    if (f->ends_all)
        signals_ignore(false);
    /* Else they are closed, or to be begun by what is denied. */
    bool can = makes_calls() || way_without(denied_here()) == WAY_CONTROL;
    for (uint32_t i = 0; i < used; i++) {
        struct rt_thread *t = thread_at_as(i);
        if (!t || t->filter.silenced != f->silenced || !(can || t->outside.may))
            continue;
        t->filter.silenced = 0;
        __atomic_fetch_sub(&guest.process->sandbox_silenced, 1, __ATOMIC_RELAXED);
        if (t->outside.may)
            outside_again_as(t);
        else
            trigger_resume_as(t);
    }
}

static void denials_note(const struct sandbox_filter *f)
{
    __atomic_fetch_or(&denied, f->denies, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&filters_noted, f->all, __ATOMIC_SEQ_CST);
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_SEQ_CST);
    if (f->self)
        __atomic_fetch_or(&f->self->filter.denied, f->denies, __ATOMIC_RELAXED);
    for (uint32_t i = 0; f->all && i < used; i++) {
        struct rt_thread *t = thread_at_as(i);
        if (t)
            __atomic_fetch_or(&t->filter.denied, f->denies, __ATOMIC_RELAXED);
    }
}

void sandbox_filter_came(const struct sandbox_filter *f, bool is_there)
{
    if (!f->looked)
        return;
    if (is_there)
        denials_note(f);
    if (f->all)
        __atomic_store_n(&coming, 0, __ATOMIC_SEQ_CST);
    if (is_there && f->first)
        sandbox_granted_as();
    if (!is_there && f->first && sandbox_refused())
        process_events_resume(NULL);
    if (!is_there && f->silenced)
        triggers_resume(f);
    if (f->locked)
        __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

bool sandbox_lets_actions(void)
{
    return lets(CALL_ACTION);
}

bool sandbox_has_samples(void)
{
    uint32_t used = __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE);
    bool has = __atomic_load_n(&unended, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < used; i++) {
        const struct rt_thread *t = thread_at_as(i);
        has |= t && (outside_runs_as(t) || (!t->filter.silenced && trigger_any_armed_as(t)));
    }
    return has;
}

bool sandbox_lets_close(void)
{
    return lets(CALL_CLOSE);
}

bool sandbox_lets_number(void)
{
    return lets(CALL_PID);
}

bool sandbox_lets_looks(void)
{
    return !rt_quiet_as() || lets(CALL_PROBE);
}

bool sandbox_lets_wake(void)
{
    return lets(CALL_WAKE);
}

bool sandbox_lets_sleep(void)
{
    return lets(CALL_SLEEP);
}

bool sandbox_lets_stack(const struct rt_thread *t)
{
    return !((__atomic_load_n(&t->filter.denied, __ATOMIC_RELAXED) |
              __atomic_load_n(&coming, __ATOMIC_SEQ_CST)) &
             bit(CALL_STACK));
}

bool sandbox_ends_anyway_as(const struct rt_thread *t)
{
    uint32_t without = __atomic_load_n(&t->filter.denied, __ATOMIC_RELAXED);
    return without & bit(CALL_DEADLY) || !(without & bit(CALL_ACTION));
}

uint32_t sandbox_endings_as(void)
{
    return __atomic_load_n(&filters_seen, __ATOMIC_SEQ_CST);
}

void sandbox_samples_end(void)
{
    struct sandbox_filter f = {.self = self_get(),
                               .silenced = __atomic_add_fetch(&filters_seen, 1, __ATOMIC_SEQ_CST)};
    silence(f.self, &f);
    if (!outside_await(f.self) && lets(CALL_ACTION))
        signals_ignore(true);
}

/* By no way that the program's own events would go, too: exec may fail. Timers go on: the kernel
 * deletes them, with their signals that are pending, before the new image begins. */
bool sandbox_exec_begins(void)
{
    struct rt_thread *t = self_get();
    enum way way = events_way(denied_here());
    bool ended = way < WAY_PRCTL;
    outside_withdraw();
    /* also after samples have ended: the collector may not have answered */
    if (t && t->outside.may)
        ended = outside_leave(t);
    else if (t && !t->filter.silenced)
        events_end(t, way);
    events_end(NULL, way);
    return !ended && lets(CALL_ACTION) && signals_exec_ignore();
}

void sandbox_exec_failed(bool last)
{
    struct rt_thread *t = self_get();
    bool outside = t && t->outside.may && !t->filter.silenced;
    if (outside) /* by the last one */
        __atomic_store_n(&t->outside.withdrawn, true, __ATOMIC_RELEASE);
    if (last)
        outside_want_again();
    if (outside)
        return;
    if (t && thread_takes_samples_as(t) && trigger_any_armed_as(t) &&
        events_way(denied_here()) == WAY_CONTROL)
        trigger_resume_events_as(t);
}

void sandbox_filter_thread_begins(struct rt_thread *t)
{
    if (__atomic_load_n(&filters_noted, __ATOMIC_SEQ_CST) != t->outside.filters)
        __atomic_fetch_or(&t->filter.denied, __atomic_load_n(&denied, __ATOMIC_SEQ_CST),
                          __ATOMIC_RELAXED);
}

uint32_t sandbox_filters_as(void)
{
    return __atomic_load_n(&filters_noted, __ATOMIC_SEQ_CST);
}

/* A filter for all threads that another one was about to install may have come for the child,
 * too. */
void sandbox_filter_fork_child(void)
{
    struct rt_thread *t = self_get();
    denied |= coming;
    if (t)
        t->filter.denied |= coming;
    coming = 0;
    lock = 0;
}
