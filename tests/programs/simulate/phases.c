/* Two phases: a quarter of the instructions are multiplications that wait for each other, the rest
 * are additions that do not. */
#include <stdint.h>

enum { ROUNDS = 62500 }; /* of 16 instructions */

int main(void)
{
    uint64_t n = ROUNDS, x = 3;
    __asm__ volatile("1:\n\t"
                     ".rept 14\n\t"
                     "imul %1, %1\n\t"
                     ".endr\n\t"
                     "sub $1, %0\n\t"
                     "jnz 1b"
                     : "+r"(n), "+r"(x)::"cc");
    n = 3 * ROUNDS;
    __asm__ volatile("1:\n\t"
                     ".rept 7\n\t"
                     "lea 1(%1), %%rcx\n\t"
                     "lea 2(%1), %%rdx\n\t"
                     ".endr\n\t"
                     "sub $1, %0\n\t"
                     "jnz 1b"
                     : "+r"(n)
                     : "r"(x)
                     : "rcx", "rdx", "cc");
    return 0;
}
