/* Has libc loaded with it, and computes for some milliseconds while it is unloaded. */
#include <stdint.h>
#include <time.h>

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static __attribute__((destructor)) void end(void)
{
    for (uint64_t begin = cpu_ns(); cpu_ns() - begin < UINT64_C(20000000);)
        ;
}
