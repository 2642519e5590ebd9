/* Numbers that are read, and the work on each: what was read decides in which of two functions. */
#ifndef TESTS_SHADOW_NUMBERS_H
#define TESTS_SHADOW_NUMBERS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline, noclone)) static uint64_t work_odd(uint64_t x)
{
    for (int i = 0; i < 20000; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

__attribute__((noinline, noclone)) static uint64_t work_even(uint64_t x)
{
    for (int i = 0; i < 20000; i++)
        x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    return x;
}

/* What is read is known: a shadow that has got something else is seen to be here. */
__attribute__((noinline, noclone)) static void work_wrong(uint64_t x)
{
    printf("%llx\n", (unsigned long long)work_odd(x));
    exit(5);
}

static uint32_t nth(uint32_t i)
{
    return i * 2654435761u >> 7;
}

#endif
