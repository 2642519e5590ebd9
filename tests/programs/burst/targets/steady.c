/* A loop of integer work: every burst in it is as long as it was asked to be. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    uint64_t x = 88172645463325252u, sum = 0;
    for (uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000000; n; n--) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        sum += x & 1 ? x : x >> 3;
    }
    printf("%016lx\n", sum);
    return 0;
}
