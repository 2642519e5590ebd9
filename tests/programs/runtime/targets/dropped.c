/* dropped HOW MS: gives up its rights, as servers do: root becomes another user, and all others
 * make themselves as hard to look into. Four threads that are made then compute ("works"), sleep
 * ("sleeps"), touch new memory ("touches") or let the kernel work ("reads") for so many
 * milliseconds; "reads" ends while two of them are still at it. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { NOBODY = 65534, THREADS = 4, BLOCK = 1 << 20, PAGE = 4096 };
static const char *how;
static double milliseconds;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static __attribute__((noinline)) void works(void)
{
    volatile uint32_t sink = 0;
    for (uint32_t i = 0; i < 1000000; i++)
        sink = sink * 1664525 + i;
}

static __attribute__((noinline)) void touches(void)
{
    volatile char *memory =
        mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; memory != MAP_FAILED && i < BLOCK; i += PAGE)
        memory[i] = 1;
    munmap((void *)memory, BLOCK);
}

static __attribute__((noinline)) void reads(void)
{
    static char memory[BLOCK];
    int fd = open("/dev/zero", O_RDONLY);
    for (int i = 0; fd >= 0 && i < 100; i++)
        if (read(fd, memory, sizeof memory) < 0)
            break;
    close(fd);
}

static void *run(void *unused)
{
    double end = now_ms() + milliseconds * (unused ? 100 : 1);
    while (now_ms() < end)
        if (!strcmp(how, "works"))
            works();
        else if (!strcmp(how, "touches"))
            touches();
        else if (!strcmp(how, "reads"))
            reads();
        else
            usleep(5000);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    how = argc > 1 ? argv[1] : "works";
    milliseconds = argc > 2 ? atof(argv[2]) : 500;
    if (geteuid() == 0 ? setgid(NOBODY) || setuid(NOBODY) : prctl(PR_SET_DUMPABLE, 0))
        return 1;
    int last = strcmp(how, "reads") ? THREADS : THREADS / 2;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, i >= last ? &threads : NULL);
    for (int i = 0; i < last; i++)
        pthread_join(threads[i], NULL);
    puts("done");
    return 0;
}
