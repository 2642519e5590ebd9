/* The trigger lock-wait: time that threads wait for mutexes, read-write locks, conditions and
 * semaphores.
 *
 * What can be had at once costs a try more and is no event: only if the try says "busy" is the
 * clock read. Waiting for a condition or a barrier is always a wait, and its time includes getting
 * the mutex back. Time is the time stamp counter's: two readings, no system call. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <time.h>

#include "runtime/interpose/real.h"
#include "runtime/self.h"
#include "runtime/thread.h"
#include "runtime/trigger/sync.h"
#include "sigsafe/sys.h"

/* Conditions have had two forms since glibc 2.3.2; dlsym may find the old one. */
#define REAL_CONDITION(name)                                                                       \
    (*({                                                                                           \
        static __typeof__(name) *resolved;                                                         \
        __typeof__(name) *known = __atomic_load_n(&resolved, __ATOMIC_RELAXED);                    \
        if (!known) {                                                                              \
            known = (__typeof__(name) *)dlvsym(RTLD_NEXT, #name, "GLIBC_2.3.2");                   \
            if (!known)                                                                            \
                known = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);                               \
            __atomic_store_n(&resolved, known, __ATOMIC_RELAXED);                                  \
        }                                                                                          \
        known;                                                                                     \
    }))

/* 0: the thread may have asked the kernel to let reading it fault, or inherited that
 * (sandbox_filter.h). */
static uint64_t ticks_now(void)
{
    const struct rt_thread *t = rt_quiet_as() ? self_get() : NULL;
    return rt_quiet_as() && (!t || t->filter.silenced) ? 0 : sys_ticks_as();
}

static void waited(uint64_t start)
{
    if (!rt_profiled_as() || !start)
        return;
    uint64_t per_us = spool_header(&guest.spool)->tsc_hz / 1000000u;
    uint64_t ticks = sys_ticks_as() - start;
    if (per_us &&
        sync_due(TRIGGER_LOCK_WAIT, ticks / per_us * 1000u + ticks % per_us * 1000u / per_us))
        sync_take(TRIGGER_LOCK_WAIT);
}

/* The call, timed. The result is an int. */
#define TIMED(call)                                                                                \
    ({                                                                                             \
        uint64_t start = ticks_now();                                                              \
        int result = (call);                                                                       \
        waited(start);                                                                             \
        result;                                                                                    \
    })

/* `try` first; unless it says `busy`, that is the answer. */
#define TRY_THEN_TIMED(try, busy, call)                                                            \
    ({                                                                                             \
        int tried = (try);                                                                         \
        tried != (busy) ? tried : TIMED(call);                                                     \
    })

/* libc refuses another clock before it looks at the lock; and of read-write locks and semaphores a
 * time that is none. */
static bool is_clock(clockid_t clock)
{
    return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

static bool is_time(const struct timespec *until)
{
    enum { ADDRESS_BITS = 56, SECOND = 1000000000 };
    return !((uint64_t)until >> ADDRESS_BITS) && (uint64_t)until->tv_nsec < SECOND;
}

/* Read-write locks take none for "at any time", though libc's header says that there is one: the
 * compiler must not see that. */
static __attribute__((noinline)) bool is_time_or_none(const struct timespec *until)
{
    return !until || is_time(until);
}

/* ---- mutexes ---- */

EXPORT int pthread_mutex_lock(pthread_mutex_t *m)
{
    return TRY_THEN_TIMED(REAL(pthread_mutex_trylock)(m), EBUSY, REAL(pthread_mutex_lock)(m));
}

EXPORT int pthread_mutex_timedlock(pthread_mutex_t *restrict m,
                                   const struct timespec *restrict until)
{
    return TRY_THEN_TIMED(REAL(pthread_mutex_trylock)(m), EBUSY,
                          REAL(pthread_mutex_timedlock)(m, until));
}

EXPORT int pthread_mutex_clocklock(pthread_mutex_t *restrict m, clockid_t clock,
                                   const struct timespec *restrict until)
{
    if (!is_clock(clock))
        return REAL(pthread_mutex_clocklock)(m, clock, until);
    return TRY_THEN_TIMED(REAL(pthread_mutex_trylock)(m), EBUSY,
                          REAL(pthread_mutex_clocklock)(m, clock, until));
}

EXPORT int mtx_lock(mtx_t *m)
{
    return TRY_THEN_TIMED(REAL(mtx_trylock)(m), thrd_busy, REAL(mtx_lock)(m));
}

EXPORT int mtx_timedlock(mtx_t *restrict m, const struct timespec *restrict until)
{
    return TRY_THEN_TIMED(REAL(mtx_trylock)(m), thrd_busy, REAL(mtx_timedlock)(m, until));
}

/* ---- read-write locks ---- */

EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
    return TRY_THEN_TIMED(REAL(pthread_rwlock_tryrdlock)(l), EBUSY, REAL(pthread_rwlock_rdlock)(l));
}

EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
    return TRY_THEN_TIMED(REAL(pthread_rwlock_trywrlock)(l), EBUSY, REAL(pthread_rwlock_wrlock)(l));
}

EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t *restrict l,
                                      const struct timespec *restrict until)
{
    if (!is_time_or_none(until))
        return REAL(pthread_rwlock_timedrdlock)(l, until);
    return TRY_THEN_TIMED(REAL(pthread_rwlock_tryrdlock)(l), EBUSY,
                          REAL(pthread_rwlock_timedrdlock)(l, until));
}

EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t *restrict l,
                                      const struct timespec *restrict until)
{
    if (!is_time_or_none(until))
        return REAL(pthread_rwlock_timedwrlock)(l, until);
    return TRY_THEN_TIMED(REAL(pthread_rwlock_trywrlock)(l), EBUSY,
                          REAL(pthread_rwlock_timedwrlock)(l, until));
}

EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t *restrict l, clockid_t clock,
                                      const struct timespec *restrict until)
{
    if (!is_clock(clock) || !is_time_or_none(until))
        return REAL(pthread_rwlock_clockrdlock)(l, clock, until);
    return TRY_THEN_TIMED(REAL(pthread_rwlock_tryrdlock)(l), EBUSY,
                          REAL(pthread_rwlock_clockrdlock)(l, clock, until));
}

EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t *restrict l, clockid_t clock,
                                      const struct timespec *restrict until)
{
    if (!is_clock(clock) || !is_time_or_none(until))
        return REAL(pthread_rwlock_clockwrlock)(l, clock, until);
    return TRY_THEN_TIMED(REAL(pthread_rwlock_trywrlock)(l), EBUSY,
                          REAL(pthread_rwlock_clockwrlock)(l, clock, until));
}

/* ---- conditions ---- */

EXPORT int pthread_cond_wait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m)
{
    return TIMED(REAL_CONDITION(pthread_cond_wait)(c, m));
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m,
                                  const struct timespec *restrict until)
{
    return TIMED(REAL_CONDITION(pthread_cond_timedwait)(c, m, until));
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m,
                                  clockid_t clock, const struct timespec *restrict until)
{
    return TIMED(REAL(pthread_cond_clockwait)(c, m, clock, until));
}

EXPORT int cnd_wait(cnd_t *c, mtx_t *m)
{
    return TIMED(REAL(cnd_wait)(c, m));
}

EXPORT int cnd_timedwait(cnd_t *restrict c, mtx_t *restrict m,
                         const struct timespec *restrict until)
{
    return TIMED(REAL(cnd_timedwait)(c, m, until));
}

EXPORT int pthread_barrier_wait(pthread_barrier_t *b)
{
    return TIMED(REAL(pthread_barrier_wait)(b));
}

/* ---- semaphores ---- */

/* True: it was had at once. errno is what it was. Waiting is a point of cancellation, trying is
 * not. */
static bool semaphore_tried(sem_t *s)
{
    int error = errno;
    pthread_testcancel();
    if (REAL(sem_trywait)(s) == 0)
        return true;
    errno = error;
    return false;
}

EXPORT int sem_wait(sem_t *s)
{
    return semaphore_tried(s) ? 0 : TIMED(REAL(sem_wait)(s));
}

EXPORT int sem_timedwait(sem_t *restrict s, const struct timespec *restrict until)
{
    if (!is_time(until))
        return REAL(sem_timedwait)(s, until);
    return semaphore_tried(s) ? 0 : TIMED(REAL(sem_timedwait)(s, until));
}

EXPORT int sem_clockwait(sem_t *restrict s, clockid_t clock, const struct timespec *restrict until)
{
    if (!is_clock(clock) || !is_time(until))
        return REAL(sem_clockwait)(s, clock, until);
    return semaphore_tried(s) ? 0 : TIMED(REAL(sem_clockwait)(s, clock, until));
}
