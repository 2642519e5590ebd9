/* Writes to every page of 8 MB again and again, for so many milliseconds of CPU time: all page faults of its own are
 * those of the beginning. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { SIZE = 8 << 20, PAGE = 4096 };

int main(int argc, char **argv)
{
    clock_t end = (clock_t)((argc > 1 ? atol(argv[1]) : 1000) * (CLOCKS_PER_SEC / 1000));
    volatile char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise((void *)memory, SIZE, MADV_NOHUGEPAGE);
    do {
        for (int i = 0; i < 20; i++)
            for (long at = 0; at < SIZE; at += PAGE)
                memory[at]++;
    } while (clock() < end);
    puts("end");
    return 0;
}
