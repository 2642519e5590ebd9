/* Time shares known by construction: a 2/3 of the work (through two callers 1:1), b 1/3. Each
 * caller and callee is a real frame. */
#include <stdio.h>
#include <stdlib.h>

#include "spin.h"

#ifdef __clang__ /* it makes no clones */
#define FRAME __attribute__((noinline))
#else
#define FRAME __attribute__((noinline, noclone))
#endif

FRAME static unsigned long leaf(unsigned long n)
{
    unsigned long r = spin(n);
    __asm__ volatile("");
    return r + 1;
}

FRAME static unsigned long first(unsigned long n)
{
    unsigned long r = leaf(n);
    __asm__ volatile("");
    return r + 2;
}

FRAME static unsigned long second(unsigned long n)
{
    unsigned long r = leaf(n);
    __asm__ volatile("");
    return r + 3;
}

FRAME static unsigned long third(unsigned long n)
{
    unsigned long r = leaf(n);
    __asm__ volatile("");
    return r + 4;
}

int main(int argc, char **argv)
{
    unsigned long total = 0, rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 300;
    for (unsigned long i = 0; i < rounds; i++)
        total += first(1000000) + second(1000000) + third(1000000);
    printf("%lu\n", total);
    return 0;
}
