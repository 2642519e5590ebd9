/* usage: calls N: `entry` calls a N times, a calls b, b calls c, c calls d. They lie in another
 * order, with functions between them that are called once or never. FUNCTIONS, PROGRAM: which part
 * it is. */
#include <stdio.h>
#include <stdlib.h>

#define APART __attribute__((noipa))
#define PAD __asm__ volatile(".skip 300, 0x90")

unsigned a(unsigned n), b(unsigned n), d(unsigned n), once(unsigned n), never(unsigned n),
    entry(unsigned n);
unsigned c(unsigned n) __asm__("_Z1cj"); /* a C++ name */

#ifdef FUNCTIONS
APART unsigned d(unsigned n)
{
    for (unsigned i = 0; i < 40; i++)
        n = n * 1664525 + 1013904223;
    return n;
}

APART unsigned never(unsigned n)
{
    PAD;
    return n * 3;
}

APART unsigned b(unsigned n)
{
    return c(n ^ 5) + 1;
}

APART unsigned once(unsigned n)
{
    return n / 3;
}

APART unsigned c(unsigned n)
{
    return d(n) + d(n + 1);
}

APART unsigned a(unsigned n)
{
    return b(n) + 3;
}

APART unsigned entry(unsigned n)
{
    unsigned sum = once(n);
    for (unsigned i = 0; i < n; i++)
        sum += a(i);
    return n == 1 ? never(sum) : sum;
}
#endif

#ifdef PROGRAM
int main(int argc, char **argv)
{
    unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
    printf("%u\n", entry(n));
    return 0;
}
#endif
