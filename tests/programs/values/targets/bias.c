/* A loop of ten instructions, one slow and nine fast ones, from `loop` to `loop_end`. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 0) : 1, a = 1;
    __asm__ volatile(".globl loop, loop_end\n"
                     "loop: divq %%rcx\n"
                     "   addq $1, %%rsi\n"
                     "   addq $2, %%rsi\n"
                     "   addq $3, %%rsi\n"
                     "   addq $4, %%rsi\n"
                     "   addq $5, %%rsi\n"
                     "   movq $77, %%rax\n"
                     "   xorl %%edx, %%edx\n"
                     "   decq %[n]\n"
                     "   jnz loop\n"
                     "loop_end:\n"
                     : [n] "+r"(n), "+a"(a)
                     : "c"(3ul), "d"(0ul)
                     : "rsi", "cc");
    printf("%lu\n", a);
    return 0;
}
