/* Recursion 1,000,000 frames deep (a thread with a stack to match), working at the bottom. deep
 * [FRAMES [WORK]] */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "spin.h"

static unsigned long work = 300000000;

__attribute__((noinline)) static unsigned long descend(unsigned long depth)
{
    if (depth == 0)
        return spin(work);
    unsigned long r = descend(depth - 1);
    __asm__ volatile("" : "+r"(r));
    return r + 1;
}

static void *run(void *argument)
{
    return (void *)descend((unsigned long)argument);
}

int main(int argc, char **argv)
{
    unsigned long depth = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
    if (argc > 2)
        work = strtoul(argv[2], NULL, 10);
    pthread_attr_t attributes;
    pthread_t thread;
    void *result;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (64ul << 20) + depth * 64);
    if (pthread_create(&thread, &attributes, run, (void *)depth) != 0)
        return 1;
    pthread_join(thread, &result);
    printf("%lu\n", (unsigned long)result);
    return 0;
}
