/* A loop without a system call, for so many rounds; 0: for ever. It has so many megabytes, which it
 * has written to before. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static volatile uint64_t sink;

static void use(size_t size)
{
    enum { PAGE = 4096 };
    volatile char *memory = malloc(size);
    for (size_t at = 0; at < size; at += PAGE)
        memory[at] = 1;
}

int main(int argc, char **argv)
{
    uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
    use(argc > 2 ? strtoull(argv[2], NULL, 10) << 20 : 0);
    for (uint64_t i = 0; !rounds || i < rounds; i++)
        for (int k = 0; k < 100000; k++)
            sink = sink * 31 + (uint64_t)k;
    printf("%llx\n", (unsigned long long)sink);
    return 0;
}
