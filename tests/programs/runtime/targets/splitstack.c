/* Compiled with -fsplit-stack: every function has as much stack as it needs, and hardly more; deep
 * recursion in threads. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include "spin.h"

enum { THREADS = 3, DEPTH = 200, ROUNDS = 400 };

__attribute__((noinline)) static unsigned long split_worker(int depth)
{
    volatile char some[256];
    some[0] = (char)depth;
    unsigned long below = depth ? split_worker(depth - 1) : 0;
    return below + spin(300) + (unsigned long)some[0];
}

static void *work(void *at)
{
    unsigned long sum = 0;
    for (int i = 0; i < ROUNDS; i++)
        sum += split_worker(DEPTH);
    *(unsigned long *)at = sum;
    return NULL;
}

int main(void)
{
    static unsigned long sums[THREADS + 1];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, &sums[i]))
            return 1;
    work(&sums[THREADS]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", sums[0] == sums[THREADS] && sums[1] == sums[2]);
    return 0;
}
