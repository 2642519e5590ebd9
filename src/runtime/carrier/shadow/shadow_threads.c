/* System calls about threads, in a shadow that has all of them. */
#include "runtime/carrier/shadow/shadow_threads.h"

#include <asm-generic/errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "sigsafe/sys.h"

enum { ROBUST_MOST = 2048 };

#define ARG(t, n) ((t)->gpr[(n) == 1 ? ENGINE_RDI : (n) == 2 ? ENGINE_RSI : (n) == 3 ? ENGINE_RDX \
                            : (n) == 4 ? ENGINE_R10 : (n) == 5 ? ENGINE_R8 : ENGINE_R9])

static bool done(struct engine_thread *t, long result)
{
    shadow_call_done(t, result);
    return true;
}

/* ---- futexes ---- */

static long wake(uint64_t at, uint64_t most, uint32_t bits)
{
    long woken = 0;
    for (struct shadow_thread *one;
         (uint64_t)woken < most && (one = shadow_threads_waiter(at, bits)); woken++)
        shadow_threads_wake(one);
    return woken;
}

static bool futex_wait_as(struct engine_thread *t, uint32_t bits)
{
    const uint32_t *word = (const uint32_t *)ARG(t, 1);
    if (__atomic_load_n(word, __ATOMIC_RELAXED) != (uint32_t)ARG(t, 3))
        return done(t, -EAGAIN);
    if (!bits)
        return done(t, -EINVAL);
    shadow_threads_wait(shadow_threads_current(), ARG(t, 1), bits, ARG(t, 4) != 0);
    shadow_threads_leave_as(t, 0, END_WAIT);
    return true;
}

static long requeue(const struct engine_thread *t, bool compare)
{
    const uint32_t *word = (const uint32_t *)ARG(t, 1);
    struct shadow_thread *one;
    if (compare && __atomic_load_n(word, __ATOMIC_RELAXED) != (uint32_t)ARG(t, 6))
        return -EAGAIN;
    long moved = 0, woken = wake(ARG(t, 1), ARG(t, 3), UINT32_MAX);
    while (ARG(t, 1) != ARG(t, 5) && (uint64_t)moved < (uint32_t)ARG(t, 4) &&
           (one = shadow_threads_waiter(ARG(t, 1), UINT32_MAX))) {
        one->wait_at = ARG(t, 5);
        moved++;
    }
    return woken + (compare ? moved : 0);
}

/* The owner's tid is in the word, as the program knows it. */
static bool lock_inherit_as(struct engine_thread *t, bool tries)
{
    uint32_t *word = (uint32_t *)ARG(t, 1), owner = *word & FUTEX_TID_MASK;
    struct shadow_thread *self = shadow_threads_current();
    if (!owner) {
        *word = (uint32_t)self->tid | (*word & ~(uint32_t)FUTEX_TID_MASK);
        return done(t, 0);
    }
    if (owner == (uint32_t)self->tid)
        return done(t, -EDEADLK);
    if (tries)
        return done(t, -EAGAIN);
    *word |= FUTEX_WAITERS;
    self->inherits = true;
    shadow_threads_wait(self, ARG(t, 1), UINT32_MAX, ARG(t, 4) != 0);
    shadow_threads_leave_as(t, 0, END_WAIT);
    return true;
}

static bool unlock_inherit(struct engine_thread *t)
{
    uint32_t *word = (uint32_t *)ARG(t, 1);
    if ((*word & FUTEX_TID_MASK) != (uint32_t)shadow_threads_current()->tid)
        return done(t, -EPERM);
    struct shadow_thread *next = shadow_threads_waiter(ARG(t, 1), UINT32_MAX);
    *word = 0;
    if (next && next->inherits) {
        shadow_threads_wake(next);
        bool more = shadow_threads_waiter(ARG(t, 1), UINT32_MAX);
        *word = (uint32_t)next->tid | (more ? FUTEX_WAITERS : 0);
    }
    return done(t, 0);
}

static bool futex_as(struct engine_thread *t)
{
    switch (ARG(t, 2) & (uint64_t)FUTEX_CMD_MASK) {
    case FUTEX_WAIT: return futex_wait_as(t, UINT32_MAX);
    case FUTEX_WAIT_BITSET: return futex_wait_as(t, (uint32_t)ARG(t, 6));
    case FUTEX_WAKE: return done(t, wake(ARG(t, 1), (uint32_t)ARG(t, 3), UINT32_MAX));
    case FUTEX_WAKE_BITSET:
        return done(t, wake(ARG(t, 1), (uint32_t)ARG(t, 3), (uint32_t)ARG(t, 6)));
    case FUTEX_REQUEUE: return done(t, requeue(t, false));
    case FUTEX_CMP_REQUEUE: return done(t, requeue(t, true));
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2: return lock_inherit_as(t, false);
    case FUTEX_TRYLOCK_PI: return lock_inherit_as(t, true);
    case FUTEX_UNLOCK_PI: return unlock_inherit(t);
    default: return false;
    }
}

/* ---- the end of a thread ---- */

/* Locks that it holds get no owner (Linux: kernel/futex/core.c, handle_futex_death). */
static void robust_death(const struct shadow_thread *thread, uint64_t entry, int64_t offset)
{
    uint32_t *word = (uint32_t *)((entry & ~UINT64_C(1)) + (uint64_t)offset);
    if (!entry || (*word & FUTEX_TID_MASK) != (uint32_t)thread->tid)
        return;
    bool waited = *word & FUTEX_WAITERS;
    *word = (*word & FUTEX_WAITERS) | FUTEX_OWNER_DIED;
    if (waited)
        wake((uint64_t)word, 1, UINT32_MAX);
}

/* The kernel's struct robust_list_head: next, offset of the word from an entry, the entry in
 * work. */
static void robust_walk(const struct shadow_thread *thread)
{
    const uint64_t *head = (const uint64_t *)thread->robust;
    if (!head)
        return;
    uint64_t pending = head[2], entry = head[0] & ~UINT64_C(1);
    for (int i = 0; i < ROBUST_MOST && entry && entry != thread->robust; i++) {
        uint64_t next = *(const uint64_t *)entry & ~UINT64_C(1);
        if (entry != (pending & ~UINT64_C(1)))
            robust_death(thread, entry, (int64_t)head[1]);
        entry = next;
    }
    robust_death(thread, pending, (int64_t)head[1]);
}

static bool exit_as(struct engine_thread *t)
{
    struct shadow_thread *self = shadow_threads_current();
    robust_walk(self);
    if (self->child_tid) {
        *(uint32_t *)self->child_tid = 0;
        wake(self->child_tid, 1, UINT32_MAX);
    }
    self->state = THREAD_GONE;
    shadow_threads_leave_as(t, 0, shadow_threads_any() ? END_WAIT : END_EXIT);
    return true;
}

/* ---- the beginning of one ---- */

struct wish {
    uint64_t flags, child_tid, parent_tid, stack, tls;
};

static bool clone_as(struct engine_thread *t, const struct wish *wish)
{
    const uint64_t needed = CLONE_VM | CLONE_THREAD | CLONE_SIGHAND;
    struct shadow_thread *to;
    if ((wish->flags & needed) != needed || wish->flags & CLONE_VFORK ||
        !(to = shadow_threads_add_as(t)))
        return false;
    to->gpr[ENGINE_RAX] = 0;
    to->gpr[ENGINE_RCX] = to->rip;
    to->gpr[ENGINE_R11] = to->rflags;
    if (wish->stack)
        to->gpr[ENGINE_RSP] = wish->stack;
    if (wish->flags & CLONE_SETTLS)
        to->fs = wish->tls;
    if (wish->flags & CLONE_PARENT_SETTID)
        *(int32_t *)wish->parent_tid = to->tid;
    if (wish->flags & CLONE_CHILD_SETTID)
        *(int32_t *)wish->child_tid = to->tid;
    if (wish->flags & CLONE_CHILD_CLEARTID)
        to->child_tid = wish->child_tid;
    return done(t, to->tid);
}

static bool clone_plain_as(struct engine_thread *t)
{
    const struct wish wish = {.flags = ARG(t, 1), .stack = ARG(t, 2), .parent_tid = ARG(t, 3),
                              .child_tid = ARG(t, 4), .tls = ARG(t, 5)};
    return clone_as(t, &wish);
}

static bool clone_struct_as(struct engine_thread *t)
{
    const struct clone_args *from = (const struct clone_args *)ARG(t, 1);
    const struct wish wish = {.flags = from->flags, .stack = from->stack + from->stack_size,
                              .parent_tid = from->parent_tid, .child_tid = from->child_tid,
                              .tls = from->tls};
    return clone_as(t, &wish);
}

/* ---- which call ---- */

/* Others run meanwhile. Where there is nobody else the table decides. */
static bool give_way_as(struct engine_thread *t)
{
    if (!shadow_threads_others_ready())
        return false;
    shadow_threads_leave_as(t, 0, END_WAIT);
    return true;
}

static bool is_zero(uint64_t limit)
{
    const struct timespec *at = (const struct timespec *)limit;
    return at && !at->tv_sec && !at->tv_nsec;
}

/* What a call waits for that a shadow does not get: END_INPUT, END_WAIT; END_COUNT: it does not
 * wait. */
static enum shadow_end waits_for(const struct engine_thread *t)
{
    uint64_t number = t->gpr[ENGINE_RAX];
    switch (number) {
    case SYS_recvfrom:
    case SYS_recvmsg:
        if (ARG(t, number == SYS_recvfrom ? 4 : 3) & MSG_DONTWAIT)
            return END_COUNT; /* fall through */
    case SYS_read:
    case SYS_readv:
    case SYS_accept:
    case SYS_accept4:
        return shadow_file_of(ARG(t, 1)) >= FILE_PIPE &&
                       !(shadow_file_flags(ARG(t, 1)) & O_NONBLOCK)
                   ? END_INPUT
                   : END_COUNT;
    case SYS_poll: return (int32_t)ARG(t, 3) ? END_INPUT : END_COUNT;
    case SYS_ppoll: return is_zero(ARG(t, 3)) ? END_COUNT : END_INPUT;
    case SYS_pselect6: return is_zero(ARG(t, 5)) ? END_COUNT : END_INPUT;
    case SYS_epoll_wait:
    case SYS_epoll_pwait: return (int32_t)ARG(t, 4) ? END_INPUT : END_COUNT;
    case SYS_epoll_pwait2:
    case SYS_rt_sigtimedwait:
        if (is_zero(ARG(t, number == SYS_epoll_pwait2 ? 4 : 3)))
            return END_COUNT;
        return number == SYS_epoll_pwait2 ? END_INPUT : END_WAIT;
    case SYS_wait4: return ARG(t, 3) & WNOHANG ? END_COUNT : END_WAIT;
    case SYS_waitid: return ARG(t, 4) & WNOHANG ? END_COUNT : END_WAIT;
    case SYS_pause:
    case SYS_rt_sigsuspend: return END_WAIT;
    default: return END_COUNT;
    }
}

/* The thread sleeps, as if what it waits for came late, and the others run on. Where nobody is left
 * the table decides. */
static bool sleep_as(struct engine_thread *t, struct shadow_thread *self)
{
    enum shadow_end why = waits_for(t);
    if (why == END_COUNT || !shadow_threads_others_left())
        return false;
    __atomic_fetch_add(&shadow_self.record->fell_asleep, 1, __ATOMIC_RELAXED);
    shadow_threads_wait(self, 0, 0, false);
    shadow_threads_leave_as(t, 0, why);
    return true;
}

/* A thread that begins here. C libraries insist on it; nothing interrupts a sequence, and all run
 * on one processor: the first two words of struct rseq. */
static bool rseq(struct engine_thread *t)
{
    uint32_t *area = (uint32_t *)ARG(t, 1);
    area[0] = area[1] = 0;
    return done(t, 0);
}

bool shadow_threads_call_as(struct engine_thread *t)
{
    struct shadow_thread *self = shadow_threads_current();
    if (!self)
        return false;
    switch (t->gpr[ENGINE_RAX]) {
    case SYS_futex: return futex_as(t);
    case SYS_exit: return exit_as(t);
    case SYS_clone: return clone_plain_as(t);
    case SYS_clone3: return clone_struct_as(t);
    case SYS_sched_yield:
    case SYS_nanosleep:
    case SYS_clock_nanosleep: return give_way_as(t);
    case SYS_set_tid_address:
        self->child_tid = ARG(t, 1);
        return done(t, self->tid);
    case SYS_set_robust_list:
        self->robust = ARG(t, 1);
        return done(t, 0);
    case SYS_rseq: return rseq(t);
    default: return sleep_as(t, self);
    }
}
