/* More different paths than are kept: 19 bits of a counter decide 19 branches of a round. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define ONE(k)                                                                                     \
    if (i >> k & 1)                                                                                \
        __asm__ volatile("addq $" #k ", %0" : "+r"(sum) : : "cc");
#define FIVE(a, b, c, d, e) ONE(a) ONE(b) ONE(c) ONE(d) ONE(e)

int main(int argc, char **argv)
{
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000, sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        FIVE(0, 1, 2, 3, 4)
        FIVE(5, 6, 7, 8, 9)
        FIVE(10, 11, 12, 13, 14)
        FIVE(15, 16, 17, 18, 19)
    }
    for (uint64_t i = 5; i < n; i += n / 1000) /* hot: the path of 5 again and again */
        for (uint64_t k = 0; k < 10000; k++)
            sum += k ^ i;
    printf("%lu\n", sum);
    return 0;
}
