/* COUNT children, one after the other, each of which works for so many MICROSECONDS of its CPU time
 * and ends: 5 parts of it in first_work, 2 in second_work, 3 in the kernel. With PIECES, it does so
 * in as many of them, and sleeps for a moment after each. Prints nothing. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

/* The clock is read seldom, so that the time is the caller's. */
static inline __attribute__((always_inline)) void work_for(uint64_t us)
{
    uint64_t end = cpu_us() + us;
    volatile unsigned long sum = 0;
    while (cpu_us() < end)
        for (unsigned i = 0; i < 20000; i++)
            sum = sum + i;
}

__attribute__((noinline)) static void first_work(uint64_t us)
{
    work_for(us);
}

__attribute__((noinline)) static void second_work(uint64_t us)
{
    work_for(us + 1); /* or the compiler makes one function of the two */
}

__attribute__((noinline)) static void kernel_work(uint64_t us)
{
    static char zeroes[1 << 18];
    uint64_t end = cpu_us() + us;
    int from = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    while (from >= 0 && cpu_us() < end)
        if (read(from, zeroes, sizeof zeroes) < 0)
            break;
    close(from);
}

static void work(uint64_t us)
{
    first_work(us * 5 / 10);
    second_work(us * 2 / 10);
    kernel_work(us * 3 / 10);
}

int main(int argc, char **argv)
{
    const struct timespec moment = {.tv_nsec = 50000};
    unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
    uint64_t us = argc > 2 ? (uint64_t)atoi(argv[2]) : 4000;
    unsigned pieces = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
    for (unsigned i = 0; i < count; i++) {
        pid_t child = fork();
        if (child < 0)
            return 1;
        if (!child) {
            if (!pieces)
                work(us);
            for (unsigned piece = 0; piece < pieces; piece++) {
                work(us / pieces);
                nanosleep(&moment, NULL);
            }
            _exit(0);
        }
        if (waitpid(child, NULL, 0) != child)
            return 1;
    }
    return 0;
}
