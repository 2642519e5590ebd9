/* Fills fresh memory by one instruction, a string instruction with a repeat prefix: most of its
 * time passes in the middle of it. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { SIZE = 64 << 20 };

int main(int argc, char **argv)
{
    unsigned long sum = 0;
    for (int n = argc > 1 ? atoi(argv[1]) : 20; n; n--) {
        unsigned char *memory =
            mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return 1;
        unsigned char *to = memory;
        size_t count = SIZE;
        __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(n) : "memory");
        sum += memory[SIZE / 2] + memory[SIZE - 1];
        munmap(memory, SIZE);
    }
    printf("%lu\n", sum);
    return 0;
}
