/* Futexes by their numbers: bits, requeues, several at once, timeouts, signals. What each call
 * returns, and how many it has woken. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "spin.h"

enum { WAITERS = 4, MS = 1000000, SECOND = 1000000000 };
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

static uint32_t from, to;
static uint32_t arrived;     /* atomic */
static unsigned handled;
static const struct timespec moment = {0, MS};

/* The kernel's (linux/futex.h has it from Linux 5.16 on). */
struct one {
    uint64_t value, address;
    uint32_t flags, reserved;
};

static long futex(uint32_t *at, int op, uint32_t value, const void *until, uint32_t *other,
                  uint32_t third)
{
    long result = syscall(SYS_futex, at, op, value, until, other, third);
    return result < 0 ? -errno : result;
}

static struct timespec in(clockid_t clock, long ms)
{
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += ms * MS;
    t.tv_sec += t.tv_nsec / SECOND;
    t.tv_nsec %= SECOND;
    return t;
}

static void *waits(void *bits)
{
    spin(300000);
    __atomic_add_fetch(&arrived, 1, __ATOMIC_RELEASE);
    return (void *)futex(&from, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 0, NULL, NULL,
                         *(uint32_t *)bits);
}

/* Until `number` have been woken, in as many calls as it takes: some have not begun to wait. */
static void wake_all(uint32_t *at, int op, long number, uint32_t bits)
{
    long woken = 0;
    while (woken < number) {
        woken += futex(at, op | FUTEX_PRIVATE_FLAG, INT32_MAX, NULL, NULL, bits);
        nanosleep(&moment, NULL);
    }
    printf("woken %ld\n", woken);
}

static void waiters_begin(pthread_t *t, uint32_t *bits)
{
    arrived = 0;
    for (unsigned i = 0; i < WAITERS; i++) {
        bits[i] = 1u << i % 2;
        pthread_create(&t[i], NULL, waits, &bits[i]);
    }
}

static void waiters_end(const pthread_t *t)
{
    for (unsigned i = 0; i < WAITERS; i++) {
        void *result;
        pthread_join(t[i], &result);
        printf("waited: %ld\n", (long)result);
    }
}

static void bits(void)
{
    pthread_t t[WAITERS];
    uint32_t of[WAITERS];
    waiters_begin(t, of);
    wake_all(&from, FUTEX_WAKE_BITSET, WAITERS / 2, 2);
    wake_all(&from, FUTEX_WAKE_BITSET, WAITERS / 2, 1);
    waiters_end(t);
}

/* A wait that is made again after a signal is one for the first word, wherever it was moved: any
 * signal does that, so what is counted is how many have ended. */
static void requeue(void)
{
    pthread_t t[WAITERS];
    uint32_t of[WAITERS];
    long moved = 0, woken = 0;
    waiters_begin(t, of);
    while (moved < WAITERS) {
        long n = futex(&from, FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG, 0, (void *)1000L, &to, 0);
        moved += n > 0 ? n : 0;
        nanosleep(&moment, NULL);
    }
    printf("changed %ld\n",
           futex(&from, FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG, 1, (void *)1L, &to, 9));
    woken = futex(&from, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 9, (void *)1L, &to,
                  FUTEX_OP(FUTEX_OP_ADD, 5, FUTEX_OP_CMP_EQ, 0));
    printf("added up to %u\n", to);
    while (woken < WAITERS) {
        woken += futex(&from, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT32_MAX, NULL, NULL, 0);
        woken += futex(&to, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT32_MAX, NULL, NULL, 0);
        nanosleep(&moment, NULL);
    }
    printf("woken %ld\n", woken);
    to = 0;
    waiters_end(t);
}

static void answers(void)
{
    for (int i = 0; i < 20; i++) {
        struct timespec until = in(CLOCK_MONOTONIC, 2), real = in(CLOCK_REALTIME, 2);
        long late = futex(&from, FUTEX_WAIT_BITSET, 0, &until, NULL, 1),
             later = futex(&from, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, &real, NULL, 1);
        spin(200000);
        if (late != -ETIMEDOUT || later != -ETIMEDOUT)
            printf("late: %ld %ld\n", late, later);
    }
    struct timespec bad = {0, SECOND};
    printf("changed %ld, no bits %ld, bad time %ld, bad place %ld, misaligned %ld, unknown %ld\n",
           futex(&from, FUTEX_WAIT, 1, NULL, NULL, 0),
           futex(&from, FUTEX_WAIT_BITSET, 0, NULL, NULL, 0),
           futex(&from, FUTEX_WAIT, 0, &bad, NULL, 0),
           futex((void *)8, FUTEX_WAIT, 0, NULL, NULL, 0),
           futex((void *)((char *)&from + 1), FUTEX_WAKE, 1, NULL, NULL, 0),
           futex(&from, 99, 0, NULL, NULL, 0));
}

static long several(struct one *list, unsigned count, unsigned flags, const struct timespec *until)
{
    long result = syscall(SYS_futex_waitv, list, count, flags, until, CLOCK_MONOTONIC);
    return result < 0 ? -errno : result;
}

static void *wakes_second(void *unused)
{
    while (futex(&to, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0) != 1)
        spin(20000);
    return unused;
}

static void at_once(void)
{
    enum { U32 = 2, PRIVATE = 128 };
    static uint32_t third;
    struct one list[] = {{0, (uintptr_t)&from, U32 | PRIVATE, 0},
                         {0, (uintptr_t)&to, U32 | PRIVATE, 0},
                         {0, (uintptr_t)&third, U32 | PRIVATE, 0}};
    for (int i = 0; i < 10; i++) {
        pthread_t t;
        pthread_create(&t, NULL, wakes_second, NULL);
        struct timespec until = in(CLOCK_MONOTONIC, 20000);
        long woken = several(list, 3, 0, &until);
        printf("woken by %ld\n", woken);
        if (woken < 0)
            return; /* a kernel without the call */
        pthread_join(t, NULL);
    }
    struct timespec until = in(CLOCK_MONOTONIC, 3);
    printf("late %ld, flags %ld, none %ld, many %ld", several(list, 3, 0, &until),
           several(list, 3, 1, &until), several(list, 0, 0, &until), several(list, 129, 0, &until));
    list[2].value = 1;
    printf(", changed %ld\n", several(list, 3, 0, &until));
}

static void handler(int number)
{
    handled += number == SIGUSR1;
}

static void *interrupts(void *whom)
{
    for (int i = 0; i < 10; i++) {
        nanosleep(&moment, NULL);
        pthread_kill(*(pthread_t *)whom, SIGUSR1);
        while (__atomic_load_n(&handled, __ATOMIC_ACQUIRE) % 10 != (unsigned)(i + 1) % 10)
            spin(1000);
    }
    return NULL;
}

/* A wait ends by its time or by one of the program's own signals, and by nothing else. */
static void interrupted(void)
{
    pthread_t self = pthread_self(), t;
    struct sigaction action = {.sa_handler = handler};
    for (int flags = 0; flags < 2; flags++) {
        unsigned ended = 0;
        action.sa_flags = flags ? SA_RESTART : 0;
        sigaction(SIGUSR1, &action, NULL);
        handled = 0;
        pthread_create(&t, NULL, interrupts, &self);
        while (__atomic_load_n(&handled, __ATOMIC_ACQUIRE) < 10) {
            const struct timespec most = {0, 50 * MS};
            long result = futex(&from, FUTEX_WAIT, 0, &most, NULL, 0);
            ended += result != -ETIMEDOUT && result != -EINTR;
        }
        pthread_join(t, NULL);
        printf("handled %u, ended otherwise %u\n", handled, ended);
    }
}

int main(void)
{
    bits();
    requeue();
    answers();
    at_once();
    interrupted();
    return 3;
}
