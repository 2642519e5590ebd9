/* Ten threads, each with a function of its own, that share locks, wait for each other, make and
 * join further threads, and look whether they are who they were: by thread-local storage, vector
 * registers, and what the kernel and locks know of them. Whoever finds a difference, in a shadow
 * too, ends by an illegal instruction. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WORKERS = 9 };

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, checked, inherits, robust;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static unsigned whose;
static uint64_t sum, counts[3];
static int rounds;
static __thread uint64_t own;
static __thread pid_t tid;

static void must(int condition)
{
    if (!condition)
        __builtin_trap();
}

static void look(uint64_t number)
{
    must(own == number);
    must(syscall(SYS_gettid) == tid);
    must(syscall(SYS_tgkill, getpid(), tid, 0) == 0);
}

static void locks(void)
{
    pthread_mutex_t *const all[] = {&checked, &inherits, &robust};
    for (unsigned i = 0; i < 3; i++) {
        must(pthread_mutex_lock(all[i]) == 0);
        counts[i]++;
        must(pthread_mutex_unlock(all[i]) == 0);
    }
    must(pthread_mutex_unlock(&checked) == EPERM);
}

/* Nobody goes on before the one in front of it has. */
static void in_turn(unsigned number)
{
    pthread_mutex_lock(&plain);
    while (whose != number)
        pthread_cond_wait(&turn, &plain);
    whose = (whose + 1) % WORKERS;
    sum += number;
    pthread_cond_broadcast(&turn);
    pthread_mutex_unlock(&plain);
}

#define WORKER(n)                                                                                  \
    static __attribute__((noinline)) double work_##n(double x)                                     \
    {                                                                                              \
        for (int i = 0; i < 3000 + n; i++)                                                         \
            x = x * 0.5 + n;                                                                       \
        return x;                                                                                  \
    }
WORKER(0) WORKER(1) WORKER(2) WORKER(3) WORKER(4) WORKER(5) WORKER(6) WORKER(7) WORKER(8)
#define NAME(n) work_##n
static double (*const work[WORKERS])(double) = {NAME(0), NAME(1), NAME(2), NAME(3), NAME(4),
                                                NAME(5), NAME(6), NAME(7), NAME(8)};

static void *run(void *argument)
{
    uint64_t number = (uintptr_t)argument;
    own = number;
    tid = (pid_t)syscall(SYS_gettid);
    for (int i = 0; i < rounds; i++) {
        double x = work[number](1e9);
        must(x > 2.0 * (double)number - 1e-6 && x < 2.0 * (double)number + 1e-6);
        look(number);
        locks();
        in_turn((unsigned)number);
    }
    return argument;
}

static void *brief(void *argument)
{
    own = 100;
    locks();
    return argument;
}

int main(int argc, char **argv)
{
    pthread_t threads[WORKERS], one;
    pthread_mutexattr_t a;
    void *result;
    rounds = argc > 1 ? atoi(argv[1]) : 1000;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&checked, &a);
    pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&inherits, &a);
    pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_NONE);
    pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &a);
    for (uintptr_t i = 0; i < WORKERS; i++)
        must(pthread_create(&threads[i], NULL, run, (void *)i) == 0);
    for (int i = 0; i < rounds / 4; i++) {
        must(pthread_create(&one, NULL, brief, &plain) == 0);
        must(pthread_join(one, &result) == 0 && result == &plain);
    }
    for (uintptr_t i = 0; i < WORKERS; i++)
        must(pthread_join(threads[i], &result) == 0 && result == (void *)i);
    printf("%llu %llu %llu %llu\n", (unsigned long long)sum, (unsigned long long)counts[0],
           (unsigned long long)counts[1], (unsigned long long)counts[2]);
    return 0;
}
