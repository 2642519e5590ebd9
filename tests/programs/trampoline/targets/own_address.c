/* Functions that look at their own return address, as assertions, tracers and allocators do. */
#include <stdint.h>
#include <stdio.h>

enum { ROUNDS = 100000000 };

static long strange;

/* Code of this program lies within this distance of main. */
int main(void);
static int ours(const void *address)
{
    return (uintptr_t)address - (uintptr_t)main + (1 << 20) < 2 << 20;
}

__attribute__((noinline)) static void leaf(void)
{
    strange += !ours(__builtin_return_address(0));
}

__attribute__((noinline)) static void inner(void)
{
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void outer(long i)
{
    inner();
    if (i % 16 == 0)
        inner();
    strange += !ours(__builtin_return_address(0));
}

int main(void)
{
    for (long i = 0; i < ROUNDS; i++) {
        leaf();
        outer(i);
    }
    printf("%ld\n", strange);
    return 0;
}
