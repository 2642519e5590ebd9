/* Mutexes that hand on their waiters' priority: libc's, and the kernel's futexes below them. What
 * each call returns, and that nobody is inside with another. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "spin.h"

enum { THREADS = 6, ROUNDS = 3000, SHORT = 40 };

static pthread_mutex_t lock;
static unsigned inside, entered, wrong;
static uint32_t word;
static unsigned held; /* atomic */

static struct timespec soon(clockid_t clock, long ms)
{
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

static long futex(uint32_t *at, int op, uint32_t value, const struct timespec *until,
                  uint32_t *other, uint32_t third)
{
    long result = syscall(SYS_futex, at, op, value, until, other, third);
    return result < 0 ? -errno : result;
}

static void make(pthread_mutex_t *mutex, int kind, int robust)
{
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    printf("attributes: %d %d %d\n", pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT),
           pthread_mutexattr_settype(&a, kind), pthread_mutexattr_setrobust(&a, robust));
    pthread_mutex_init(mutex, &a);
    pthread_mutexattr_destroy(&a);
}

static void *enters(void *unused)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct timespec until = soon(CLOCK_REALTIME, 10000);
        int got = i % 3 ? pthread_mutex_lock(&lock) : pthread_mutex_timedlock(&lock, &until);
        wrong += got != 0 || inside++ != 0;
        spin(SHORT);
        entered++;
        inside--;
        wrong += pthread_mutex_unlock(&lock) != 0;
    }
    return unused;
}

static void crowd(int kind)
{
    pthread_t t[THREADS];
    make(&lock, kind, PTHREAD_MUTEX_STALLED);
    entered = 0;
    for (unsigned i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, enters, NULL);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    printf("entered %u, wrong %u\n", entered, wrong);
    pthread_mutex_destroy(&lock);
}

static void *dies(void *unused)
{
    pthread_mutex_lock(&lock);
    spin(100000);
    return unused;
}

static void *tries(void *unused)
{
    struct timespec until = soon(CLOCK_REALTIME, 20);
    int busy = pthread_mutex_trylock(&lock), late = pthread_mutex_timedlock(&lock, &until);
    printf("of another: %d %d %d\n", busy, late, pthread_mutex_unlock(&lock));
    return unused;
}

static void answers(void)
{
    pthread_t t;
    make(&lock, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ROBUST);
    pthread_create(&t, NULL, dies, NULL);
    pthread_join(t, NULL);
    printf("owner died: %d", pthread_mutex_lock(&lock));
    printf(" %d", pthread_mutex_consistent(&lock));
    printf(" %d", pthread_mutex_lock(&lock));
    printf(" %d", pthread_mutex_unlock(&lock));
    printf(" %d\n", pthread_mutex_unlock(&lock));
    pthread_mutex_lock(&lock);
    pthread_create(&t, NULL, tries, NULL);
    pthread_join(t, NULL);
    pthread_mutex_unlock(&lock);
}

static void *holds(void *unused)
{
    const struct timespec moment = {0, 5000000};
    printf("taken: %ld\n", futex(&word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
    __atomic_store_n(&held, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&held, __ATOMIC_ACQUIRE))
        spin(SHORT);
    nanosleep(&moment, NULL);
    printf("given: %ld\n", futex(&word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
    return unused;
}

static void raw(void)
{
    pthread_t t;
    struct timespec until = soon(CLOCK_REALTIME, 10);
    pthread_create(&t, NULL, holds, NULL);
    while (!__atomic_load_n(&held, __ATOMIC_ACQUIRE))
        spin(SHORT);
    printf("busy %ld, late %ld, not ours %ld\n", futex(&word, FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0),
           futex(&word, FUTEX_LOCK_PI, 0, &until, NULL, 0),
           futex(&word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
    __atomic_store_n(&held, 0, __ATOMIC_RELEASE);
    long got = futex(&word, FUTEX_LOCK_PI, 0, NULL, NULL, 0);
    pthread_join(t, NULL);
    printf("waited: %ld, again %ld", got, futex(&word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
    printf(", given %ld\n", futex(&word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
}

int main(void)
{
    static const int kinds[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ERRORCHECK,
                                PTHREAD_MUTEX_RECURSIVE};
    for (unsigned i = 0; i < 3; i++)
        crowd(kinds[i]);
    answers();
    raw();
    return wrong ? 1 : 3;
}
