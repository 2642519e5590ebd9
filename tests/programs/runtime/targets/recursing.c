/* Recursion that goes down to a depth and comes back, again and again: recursing DEPTH TIMES. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long depth, times;

__attribute__((noinline)) static long descend(long left)
{
    if (!left)
        return 0;
    long below = descend(left - 1);
    __asm__ volatile("" : "+r"(below)); /* no tail call */
    return below + 1;
}

static void *work(void *argument)
{
    long sum = 0;
    for (long i = 0; i < times; i++)
        sum += descend(depth);
    printf("%ld\n", sum);
    return argument;
}

int main(int argc, char **argv)
{
    pthread_attr_t attributes;
    pthread_t thread;
    if (argc != 3)
        return 2;
    depth = atol(argv[1]);
    times = atol(argv[2]);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (64ul << 20) + (unsigned long)depth * 64);
    if (pthread_create(&thread, &attributes, work, NULL))
        return 2;
    pthread_join(thread, NULL);
    return 0;
}
