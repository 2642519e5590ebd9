/* So many times: uses so many megabytes, works for some million instructions, and gives them
 * back. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
    enum { PAGE = 4096, WORK = 1000000 };
    size_t size = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1) << 20;
    volatile uint64_t sum = 1;
    for (long round = 0, rounds = argc > 2 ? atol(argv[2]) : 1; round < rounds; round++) {
        volatile char *memory =
            mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise((void *)memory, size, MADV_NOHUGEPAGE);
        for (size_t at = 0; at < size; at += PAGE)
            memory[at] = 1;
        for (int i = 0; i < WORK; i++)
            sum = sum * 31 + (uint64_t)i;
        munmap((void *)memory, size);
    }
    puts("end");
    return 0;
}
