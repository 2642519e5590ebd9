/* Figure 1 of the csprof paper: c costs the same under a as under b, by half as many calls.
 * Variants:
 *
 *     plain      as in the paper
 *     recursion  each call of c goes 40 frames down and comes back before it works
 *     deep       all of it at the end of a stack of 20,000 frames
 *     short      with less work in each call of c
 *     threads    in four threads at a time */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { WORK = 1 << 27, DEEP = 20000, RECURSION = 40, THREADS = 4 };
#define STAYS __asm__ volatile("" ::: "memory") /* a call before it is no tail call */

static int recursion;
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
    if (!strcmp(mode, "short"))
        work = WORK / 1024;
    if (strcmp(mode, "threads")) {
        both(strcmp(mode, "deep") ? 0 : DEEP);
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
