/* Stands for a program whose run time system must not find a trampoline: by its symbol. */
#include <stdio.h>

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
    for (long i = 0; i < 20000000; i++)
        step();
    __asm__ volatile("" ::: "memory");
}

int main(void)
{
    for (int i = 0; i < 10; i++)
        work();
    puts("done");
    return 0;
}
