/* A loop of two stretches that are executed equally often, one slow and one fast: from `slow` to
 * `fast`, a hundred divisions that wait for each other; from `fast` to `phases_end` a hundred
 * additions. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 0) : 1, a = 1;
    __asm__ volatile(".globl slow, fast, phases_end\n"
                     "slow: .rept 100\n"
                     "   divq %%rcx\n"
                     "   .endr\n"
                     "fast: .rept 100\n"
                     "   leaq 1(%%rsi), %%rsi\n"
                     "   .endr\n"
                     "phases_end:\n"
                     "   decq %[n]\n"
                     "   jnz slow\n"
                     : [n] "+r"(n), "+a"(a)
                     : "c"(1ul), "d"(0ul)
                     : "rsi", "cc");
    printf("%lu\n", a);
    return 0;
}
