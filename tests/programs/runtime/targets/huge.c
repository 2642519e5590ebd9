/* Touches huge pages for so many milliseconds of CPU time: nearly all of it passes in page faults
 * that take the kernel hundreds of microseconds each. Prints "huge" if there are such pages. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { HUGE_PAGE = 2 << 20, PAGES = 16 };

static long huge_kb(void)
{
    long most = 0, kb;
    char line[256];
    FILE *f = fopen("/proc/self/smaps", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "AnonHugePages: %ld kB", &kb) == 1 && kb > most)
            most = kb;
    if (f)
        fclose(f);
    return most;
}

__attribute__((noinline)) static void touch(volatile char *memory)
{
    for (int i = 0; i < PAGES; i++)
        memory[(long)i * HUGE_PAGE] = 1;
}

int main(int argc, char **argv)
{
    clock_t end = (clock_t)((argc > 1 ? atol(argv[1]) : 300) * (CLOCKS_PER_SEC / 1000));
    long kb = 0;
    while (clock() < end) {
        char *memory = mmap(NULL, (PAGES + 1) * (long)HUGE_PAGE, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED ||
            madvise(memory, (PAGES + 1) * (long)HUGE_PAGE, MADV_HUGEPAGE) != 0)
            break;
        touch(memory);
        if (!kb)
            kb = huge_kb();
        munmap(memory, (PAGES + 1) * (long)HUGE_PAGE);
    }
    puts(kb >= PAGES * (HUGE_PAGE >> 10) / 2 ? "huge" : "none");
    return 0;
}
