/* Calls that wait for signals, and those that have a mask of their own meanwhile. A signal of the
 * program's with our number, which it has blocked and which is kept (signals_held.h), is given to
 * the kernel for their time, and blocked there: the thread sleeps, and there is nothing to
 * sample. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "runtime/interpose/io.h"
#include "runtime/interpose/pointers.h"
#include "runtime/interpose/real.h"
#include "runtime/interpose/signals_held.h"
#include "runtime/interpose/signals_mask.h"
#include "runtime/runtime.h"
#include "runtime/thread.h"
#include "runtime/trigger/delivery.h"
#include "sigsafe/sys.h"

enum { MASK_SIZE = 8 };

/* Whether the program's set holds our signal, or NULL is returned for it. A bad one is for the
 * kernel to refuse. */
static bool has_ours(const sigset_t *set, bool *known)
{
    *known = signals_active_as() && !rt_quiet_as() && set && pointer_readable_as(set, MASK_SIZE);
    return *known && signals_mask_of(set) >> (signals_number_as() - 1) & 1;
}

/* ---- a mask for the time of a call ---- */

struct mask_time {
    bool used, real;
};

/* Only where the program's mask blocks our signal and the call's does not. Where it is blocked for
 * the kernel already, it is pending there: our handler must only not keep it. */
static struct mask_time mask_begin(const sigset_t *mask)
{
    struct mask_time m = {false};
    bool known, member = has_ours(mask, &known);
    if (!known || member || !*signals_believed_as() || signals_child_acts_as())
        return m;
    m.used = true;
    m.real = !signals_yield_as();
    if (m.real) {
        signals_mask_real_as(SIG_BLOCK);
        held_drop_sample_as(signals_number_as());
    }
    signals_believe_as(false);
    if (m.real)
        held_release_as(signals_number_as());
    return m;
}

static void mask_end(void *state)
{
    int error = errno;
    const struct mask_time *m = state;
    signals_believe_as(true);
    if (m->real)
        signals_mask_real_as(SIG_UNBLOCK);
    errno = error;
}

/* The call, which is a point of cancellation. */
#define WITH_MASK(mask, call)                                                                      \
    ({                                                                                             \
        struct mask_time m = mask_begin(mask);                                                     \
        int result;                                                                                \
        if (!m.used) {                                                                             \
            result = (call);                                                                       \
        } else {                                                                                   \
            pthread_cleanup_push(mask_end, &m);                                                    \
            result = (call);                                                                       \
            pthread_cleanup_pop(1);                                                                \
        }                                                                                          \
        result;                                                                                    \
    })

EXPORT int sigsuspend(const sigset_t *mask)
{
    return WITH_MASK(mask, REAL(sigsuspend)(mask));
}

/* The older ways to say it. libc's own do not call ours. */
int __xpg_sigpause(int);
int sigpause_plain(int) __asm__("sigpause");
int(__sigpause)(int, int);

static int pause_without(int number)
{
    sigset_t set;
    if (sigprocmask(SIG_BLOCK, NULL, &set) != 0 || sigdelset(&set, number) != 0)
        return -1;
    return sigsuspend(&set);
}

static int pause_with(int mask)
{
    sigset_t set;
    sigemptyset(&set);
    for (int i = 1; i <= 32; i++)
        if ((unsigned)mask >> (i - 1) & 1)
            sigaddset(&set, i);
    return sigsuspend(&set);
}

EXPORT int __xpg_sigpause(int number)
{
    return pause_without(number);
}

EXPORT int sigpause_plain(int mask)
{
    return pause_with(mask);
}

EXPORT int(__sigpause)(int number_or_mask, int is_number)
{
    return is_number ? pause_without(number_or_mask) : pause_with(number_or_mask);
}

/* ---- descriptors, with a mask; numbered for shadows (io.h) ---- */

int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);

EXPORT int ppoll(struct pollfd *list, nfds_t count, const struct timespec *limit,
                 const sigset_t *mask)
{
    return WITH_MASK(
        mask, LOGGED(REAL(ppoll)(list, count, limit, mask), SYS_ppoll, list, count, limit, mask));
}

EXPORT int __ppoll_chk(struct pollfd *list, nfds_t count, const struct timespec *limit,
                       const sigset_t *mask, size_t room)
{
    return WITH_MASK(mask, LOGGED(REAL(__ppoll_chk)(list, count, limit, mask, room), SYS_ppoll,
                                  list, count, limit, mask));
}

EXPORT int pselect(int count, fd_set *restrict reads, fd_set *restrict writes,
                   fd_set *restrict fails, const struct timespec *restrict limit,
                   const sigset_t *restrict mask)
{
    return WITH_MASK(mask, LOGGED(REAL(pselect)(count, reads, writes, fails, limit, mask),
                                  SYS_pselect6, count, reads, writes, fails, limit));
}

EXPORT int epoll_pwait(int fd, struct epoll_event *events, int most, int limit,
                       const sigset_t *mask)
{
    return WITH_MASK(mask, LOGGED(REAL(epoll_pwait)(fd, events, most, limit, mask), SYS_epoll_pwait,
                                  fd, events, most, limit, mask));
}

EXPORT int epoll_pwait2(int fd, struct epoll_event *events, int most, const struct timespec *limit,
                        const sigset_t *mask)
{
    return WITH_MASK(mask, LOGGED(REAL(epoll_pwait2)(fd, events, most, limit, mask),
                                  SYS_epoll_pwait2, fd, events, most, limit, mask));
}

/* ---- waits ---- */

typedef int wait_function(const sigset_t *restrict, siginfo_t *restrict,
                          const struct timespec *restrict);

struct wait_time {
    wait_function *call;
    const sigset_t *set;
    const struct timespec *limit;
    uint64_t until_ns; /* on the monotonic clock; 0: forever, or as the kernel says of `limit` */
    struct timespec rest;
    bool was_blocked;
};

static void wait_limit(struct wait_time *w)
{
    enum { LONGEST = 1 << 30, NS = 1000000000 };
    if (!w->limit || !pointer_readable_as(w->limit, sizeof *w->limit))
        return;
    if (w->limit->tv_sec >= 0 && w->limit->tv_sec < LONGEST && (uint64_t)w->limit->tv_nsec < NS)
        w->until_ns = thread_monotonic_ns_as() + (uint64_t)w->limit->tv_sec * NS +
                      (uint64_t)w->limit->tv_nsec;
}

static void wait_again(struct wait_time *w)
{
    enum { NS = 1000000000 };
    if (!w->until_ns)
        return;
    uint64_t now = thread_monotonic_ns_as(), rest = now < w->until_ns ? w->until_ns - now : 0;
    w->rest = (struct timespec){(time_t)(rest / NS), (long)(rest % NS)};
    w->limit = &w->rest;
}

static void wait_end(void *state)
{
    const struct wait_time *w = state;
    int error = errno;
    signals_wait_for(false);
    if (!w->was_blocked)
        signals_mask_real_as(SIG_UNBLOCK);
    errno = error;
}

/* The program's place for what has come. The signal is gone also where there is none: the kernel
 * says so only then. */
static bool info_give(siginfo_t *to, const siginfo_t *from)
{
    char *ends[] = {(char *)to, (char *)(to + 1) - MASK_SIZE};
    for (int i = 0; to && i < 2; i++)
        if (sys_call3_as(SYS_rt_sigpending, (long)ends[i], MASK_SIZE, 0) != 0)
            return false;
    if (to)
        *to = *from;
    return true;
}

/* Another thread, which holds one for the process, wakes this one up by a signal of ours; and a
 * sample may have come before it was blocked. */
static int wait_for_ours(struct wait_time *w, siginfo_t *info)
{
    int number = signals_number_as(), result;
    wait_limit(w);
    w->was_blocked = signals_mask_real_as(SIG_BLOCK);
    signals_wait_for(true);
    pthread_cleanup_push(wait_end, w);
    for (;;) {
        held_release_as(number);
        result = w->call(w->set, info, w->limit);
        if (result != number || !handler_is_ours(info))
            break;
        wait_again(w);
    }
    pthread_cleanup_pop(1);
    return result;
}

static int timed_wait(wait_function *call, const sigset_t *set, siginfo_t *info,
                      const struct timespec *limit)
{
    bool known;
    if (!has_ours(set, &known) || signals_yield_as())
        return call(set, info, limit);
    struct wait_time w = {.call = call, .set = set, .limit = limit};
    siginfo_t came;
    int result = wait_for_ours(&w, &came);
    if (result > 0 && !info_give(info, &came))
        return (int)call_failed(-EFAULT);
    return result;
}

EXPORT int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info,
                        const struct timespec *restrict limit)
{
    return timed_wait(&REAL(sigtimedwait), set, info, limit);
}

EXPORT int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info)
{
    return sigtimedwait(set, info, NULL);
}

EXPORT int sigwait(const sigset_t *restrict set, int *restrict number)
{
    bool known;
    siginfo_t info = {.si_signo = 0};
    int result;
    if (!has_ours(set, &known) || signals_yield_as())
        return REAL(sigwait)(set, number);
    do
        result = sigtimedwait(set, &info, NULL);
    while (result < 0 && errno == EINTR);
    if (result < 0)
        return errno;
    *number = info.si_signo;
    return 0;
}

EXPORT int signalfd(int fd, const sigset_t *mask, int flags)
{
    bool known;
    int result = REAL(signalfd)(fd, mask, flags), error = errno;
    if (result >= 0 && has_ours(mask, &known) && !signals_yield_as())
        signals_yield_begin();
    errno = error;
    return result;
}

/* ---- what interpose/syscall.S hands on: no points of cancellation ---- */

long syscall_onward(long number, ...);

static int wait_onward(const sigset_t *restrict set, siginfo_t *restrict info,
                       const struct timespec *restrict limit)
{
    return (int)syscall_onward(SYS_rt_sigtimedwait, set, info, limit, (long)MASK_SIZE);
}

long sigtimedwait_by_number(long number, const sigset_t *set, siginfo_t *info,
                            const struct timespec *limit, long size);
long sigtimedwait_by_number(long number, const sigset_t *set, siginfo_t *info,
                            const struct timespec *limit, long size)
{
    return size == MASK_SIZE ? timed_wait(wait_onward, set, info, limit)
                             : syscall_onward(number, set, info, limit, size);
}

/* A mask and its size, as pselect6 is given them. */
struct given_mask {
    const sigset_t *mask;
    long size;
};

/* NULL: there is none, or the kernel will refuse it. */
static const sigset_t *mask_given(long number, const long *argument)
{
    enum { MASK_IS_MORE = 8 }; /* IORING_ENTER_EXT_ARG: it lies in a structure */
    struct given_mask given = {NULL, 0};
    switch (number) {
    case SYS_rt_sigsuspend:
        given = (struct given_mask){(const sigset_t *)argument[0], argument[1]};
        break;
    case SYS_ppoll:
        given = (struct given_mask){(const sigset_t *)argument[3], argument[4]};
        break;
    case SYS_pselect6:
        if (argument[5] && pointer_readable_as((const void *)argument[5], sizeof given))
            given = *(const struct given_mask *)argument[5];
        break;
    case SYS_io_uring_enter:
        if (argument[3] & MASK_IS_MORE)
            break;
        __attribute__((fallthrough));
    default: /* epoll_pwait, epoll_pwait2 */
        given = (struct given_mask){(const sigset_t *)argument[4], argument[5]};
    }
    return given.size == MASK_SIZE ? given.mask : NULL;
}

long masked_by_number(long number, long a, long b, long c, long d, long e, long f);
long masked_by_number(long number, long a, long b, long c, long d, long e, long f)
{
    const long argument[] = {a, b, c, d, e, f};
    return WITH_MASK(mask_given(number, argument),
                     (int)syscall_onward(number, a, b, c, d, e, f));
}
