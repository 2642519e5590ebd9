/* Stands for a program whose run time system must not find a trampoline: by its symbol, or by what
 * it asks for when it begins. */
#include <stdio.h>
#include <stdlib.h>

#ifndef HOST_ASKS
#define HOST_ASKS "HOME"
#endif

__attribute__((visibility("default"))) int HOST_SYMBOL(void)
{
    return 0;
}

__attribute__((noinline)) static void step(void)
{
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void work(void)
{
    for (long i = 0; i < 5000000; i++)
        step();
    __asm__ volatile("" ::: "memory");
}

/* host [ROUNDS] */
int main(int argc, char **argv)
{
    const char *asked = getenv(HOST_ASKS);
    printf("%s\n", asked ? asked : "not set");
    for (int i = 0, rounds = argc > 1 ? atoi(argv[1]) : 10; i < rounds; i++)
        work();
    puts("done");
    return 0;
}
