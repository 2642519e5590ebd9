/* A function whose instructions are known: a loop with a branch that is taken or not. */
#include <stdio.h>

__attribute__((noinline)) static unsigned collatz(unsigned n)
{
    unsigned steps = 0;
    while (n != 1) {
        if (n & 1)
            n = 3 * n + 1;
        else
            n >>= 1;
        steps++;
        __asm__ volatile(""); /* keeps the branch a branch */
    }
    return steps;
}

__attribute__((noinline)) static unsigned twice(unsigned n)
{
    return collatz(n) + collatz(n + 1);
}

int main(int argc, char **argv)
{
    (void)argv;
    printf("%u\n", twice((unsigned)argc + 26));
    return 0;
}
