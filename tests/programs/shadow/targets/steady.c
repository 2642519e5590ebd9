/* A loop without a system call, for so many rounds; 0: for ever. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static volatile uint64_t sink;

int main(int argc, char **argv)
{
    uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
    for (uint64_t i = 0; !rounds || i < rounds; i++)
        for (int k = 0; k < 100000; k++)
            sink = sink * 31 + (uint64_t)k;
    printf("%llx\n", (unsigned long long)sink);
    return 0;
}
