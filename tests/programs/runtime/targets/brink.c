/* Goes to the end of its stack, and stays there for a while: there is no room for a signal's frame.
 * In the main thread, and in another one. */
#include <alloca.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile uint32_t sink;

__attribute__((noinline)) static void stay(uint64_t end)
{
    uint64_t here = (uint64_t)__builtin_frame_address(0);
    volatile char *down = alloca(here - end);
    down[0] = 1;
    for (clock_t until = clock() + CLOCKS_PER_SEC / 3; clock() < until;)
        for (uint32_t i = 0; i < 1000; i++)
            sink = sink * 1664525 + i;
}

static void *thread(void *unused)
{
    pthread_attr_t attributes;
    void *lo;
    size_t size;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &lo, &size);
    pthread_attr_destroy(&attributes);
    stay((uint64_t)lo + 4096 + 1024);
    return unused;
}

int main(void)
{
    pthread_t other;
    thread(NULL);
    if (pthread_create(&other, NULL, thread, NULL) || pthread_join(other, NULL))
        return 1;
    puts("fine");
    return 0;
}
