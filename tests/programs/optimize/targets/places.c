/* usage: places N: `work` calls `leaf` N times, an inlined function calls `rare` N / 8 times, and a
 * pointer `twice` 3 N / 4 times, `thrice` N / 4 times. */
#include <stdio.h>
#include <stdlib.h>

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif

typedef unsigned operation(unsigned n);

APART unsigned rare(unsigned n);
APART unsigned leaf(unsigned n);
APART unsigned work(unsigned n, operation *const *operations);

APART unsigned rare(unsigned n)
{
    return n * 5 + 1;
}

APART unsigned leaf(unsigned n)
{
    if (n % 4 == 0)
        return n ^ 0x55555555;
    for (unsigned i = 0; i < 3; i++)
        n = n * 1664525 + 1013904223;
    return n;
}

static APART unsigned twice(unsigned n)
{
    return n * 2 + 1;
}

static APART unsigned thrice(unsigned n)
{
    return n * 3 + 7;
}

static inline __attribute__((always_inline)) unsigned within(unsigned n)
{
    if (n % 8 == 3)
        return rare(n);
    return n / 3;
}

static inline __attribute__((always_inline)) unsigned around(unsigned n)
{
    unsigned m = n ^ 0x1234;
    return within(n) + m;
}

APART unsigned work(unsigned n, operation *const *operations)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < n; i++) {
        sum += leaf(i);
        sum ^= around(i);
        sum += operations[i % 4 == 1](i);
    }
    return sum;
}

int main(int argc, char **argv)
{
    operation *const operations[] = { twice, thrice };
    printf("%u\n", work(argc > 1 ? (unsigned)atoi(argv[1]) : 1000, operations));
    return 0;
}
