/* Thirty thousand calls, one behind the other, again and again. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { CALLS = 30000 };

uint64_t many_calls(uint64_t n);
__asm__("    .text\n"
        "    .globl many_calls\n"
        "many_calls:\n"
        "    leaq (%rdi), %rax\n"
        "    .rept 30000\n"
        "    call 1f\n"
        "    .endr\n"
        "    ret\n"
        "1:  leaq 1(%rax), %rax\n"
        "    ret\n");

int main(int argc, char **argv)
{
    uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 0) : 1, sum = 0;
    for (uint64_t i = 0; i < rounds; i++)
        sum = many_calls(sum);
    printf("%lu\n", (unsigned long)sum);
    return sum != rounds * CALLS;
}
