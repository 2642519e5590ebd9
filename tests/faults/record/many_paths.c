/* Takes a page fault at the end of a new call path, again and again, for the seconds of CPU time
 * given: with `-e page-faults` the calling context tree grows as fast as it can. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static volatile char *page;

static unsigned walk(uint64_t path, unsigned depth)
{
    if (!depth) {
        madvise((void *)(uintptr_t)page, 4096, MADV_DONTNEED);
        page[0] = 1;
        return 1;
    }
    /* Four call sites, so that random bits decide which return addresses are on the stack. */
    path = path * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    switch (path >> 62) {
    case 0: return walk(path, depth - 1) + 1;
    case 1: return walk(path, depth - 1) + 2;
    case 2: return walk(path, depth - 1) + 3;
    default: return walk(path, depth - 1) + 4;
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    double end = now() + (argc > 1 ? atof(argv[1]) : 1);
    unsigned sum = 0;
    uint64_t path = 1;
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return 1;
    while (now() < end)
        sum += walk(path++, 200);
    printf("%u\n", sum != 0);
    return 0;
}
