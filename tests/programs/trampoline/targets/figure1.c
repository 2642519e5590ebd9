/* Figure 1 of the csprof paper: c costs the same under a as under b, by half as many calls.
 * Variants:
 *
 *     plain      as in the paper
 *     recursion  each call of c goes 40 frames down and comes back before it works
 *     deep       all of it at the end of a stack of 20,000 frames
 *     short      with less work in each call of c
 *     threads    in four threads at a time
 *
 * Before it, all but `short` are in warm_up for WARM_NS: by then the collector, which may have to
 * wait for a processor, has the tables without which no call is counted. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORK = 1 << 27, DEEP = 20000, RECURSION = 40, THREADS = 4, WARM_NS = 500000000 };
#define STAYS __asm__ volatile("" ::: "memory") /* a call before it is no tail call */

static int recursion, depth_of_all;
static long work = WORK;

__attribute__((noinline)) void d(void)
{
    STAYS;
}

__attribute__((noinline)) void down(int depth)
{
    if (depth)
        down(depth - 1);
    STAYS;
}

static long long cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

__attribute__((noinline)) static void warm_up(void)
{
    long long until = work == WORK ? cpu_ns() + WARM_NS : 0;
    do
        for (long i = 0; i < 100000; i++)
            d();
    while (cpu_ns() < until);
    STAYS;
}

__attribute__((noinline)) void c(long n)
{
    if (recursion)
        down(RECURSION);
    for (long i = 0; i < work / n; i++)
        d();
    STAYS;
}

__attribute__((noinline)) void b(void (*f)(long))
{
    f(2);
    f(2);
    f(2);
    f(2);
    STAYS;
}

__attribute__((noinline)) void a(void (*f)(long))
{
    f(1);
    f(1);
    STAYS;
}

__attribute__((noinline)) static void both(int depth)
{
    if (depth) {
        both(depth - 1);
    } else {
        if (depth_of_all)
            warm_up();
        a(c);
        b(c);
    }
    STAYS;
}

static void *thread(void *unused)
{
    both(0);
    return unused;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "plain";
    pthread_t threads[THREADS];
    recursion = !strcmp(mode, "recursion");
    depth_of_all = strcmp(mode, "deep") ? 0 : DEEP;
    if (!strcmp(mode, "short"))
        work = WORK / 1024;
    if (!depth_of_all)
        warm_up();
    if (strcmp(mode, "threads")) {
        both(depth_of_all);
        return 0;
    }
    work = WORK / THREADS * 2;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, thread, NULL))
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
