/* Work at the end of a deep stack: `depth FRAMES ROUNDS`. The stack is FRAMES deep; from a few
 * frames above its end the program goes down to it again and again, and works there, as a recursive
 * algorithm does. The answer printed depends on all of the work. Built with frame pointers, so that
 * perf's fp mode can follow it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { STACK_SIZE = 64 << 20, LAST = 8, WORK = 4000, FRAMES_OUTSIDE = 3 };
#define STAYS __asm__ volatile("" ::: "memory") /* a call before it is no tail call */

static long depth, rounds;
static unsigned long answer;

__attribute__((noinline)) static void last(int frames)
{
    if (frames > 0)
        last(frames - 1);
    else
        for (int i = 0; i < WORK; i++)
            answer = answer * 6364136223846793005u + 1442695040888963407u;
    STAYS;
}

__attribute__((noinline)) static void down(long frames)
{
    if (frames > 0)
        down(frames - 1);
    else
        for (long i = 0; i < rounds; i++)
            last(LAST);
    STAYS;
}

static void *begin(void *unused)
{
    long frames = depth - LAST - FRAMES_OUTSIDE;
    down(frames > 0 ? frames : 0);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_attr_t attributes;
    pthread_t thread;
    depth = argc > 1 ? atol(argv[1]) : 10;
    rounds = argc > 2 ? atol(argv[2]) : 200000;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    if (pthread_create(&thread, &attributes, begin, NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
    printf("%lu\n", answer);
    return 0;
}
