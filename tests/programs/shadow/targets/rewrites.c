/* Writes to every page of so many MB (8) again and again, with so many rounds of work (0) between
 * two, for so many milliseconds of CPU time: all page faults of its own are those of the
 * beginning. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

int main(int argc, char **argv)
{
    enum { PAGE = 4096, PAGES_BETWEEN = 2048 };
    clock_t end = (clock_t)((argc > 1 ? atol(argv[1]) : 1000) * (CLOCKS_PER_SEC / 1000));
    size_t size = (argc > 2 ? strtoull(argv[2], NULL, 10) : 8) << 20, at = 0;
    long work = argc > 3 ? atol(argv[3]) : 0;
    volatile uint64_t sum = 1;
    volatile char *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise((void *)memory, size, MADV_NOHUGEPAGE);
    do {
        for (int i = 0; i < PAGES_BETWEEN; i++, at = (at + PAGE) % size) {
            memory[at]++;
            for (long k = 0; k < work; k++)
                sum = sum * 31 + 1;
        }
    } while (clock() < end);
    puts("end");
    return 0;
}
