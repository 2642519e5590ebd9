/* COUNT threads, some at a time, each of which works for so many MICROSECONDS of its CPU time and
 * ends; then one that works for 300 ms. Prints nothing. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { AT_A_TIME = 20, LONG_US = 300000 };

static uint64_t brief_us;

static uint64_t cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

/* The clock is read seldom, so that the time is this function's. */
static inline __attribute__((always_inline)) void work_for(uint64_t us)
{
    uint64_t end = cpu_us() + us;
    volatile unsigned long sum = 0;
    while (cpu_us() < end)
        for (unsigned i = 0; i < 2000; i++)
            sum = sum + i;
}

__attribute__((noinline)) static void brief_work(void)
{
    work_for(brief_us);
}

__attribute__((noinline)) static void long_work(void)
{
    work_for(LONG_US);
}

static void *brief_run(void *unused)
{
    brief_work();
    return unused;
}

static void *long_run(void *unused)
{
    long_work();
    return unused;
}

int main(int argc, char **argv)
{
    unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
    pthread_t threads[AT_A_TIME];
    brief_us = argc > 2 ? (uint64_t)atoi(argv[2]) : 60;
    for (unsigned i = 0; i < count; i += AT_A_TIME) {
        for (unsigned k = 0; k < AT_A_TIME; k++)
            if (pthread_create(&threads[k], NULL, brief_run, NULL))
                return 1;
        for (unsigned k = 0; k < AT_A_TIME; k++)
            pthread_join(threads[k], NULL);
    }
    if (pthread_create(threads, NULL, long_run, NULL))
        return 1;
    return pthread_join(threads[0], NULL);
}
