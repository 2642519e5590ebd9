/* Ten expensive activations that are all left by a longjmp. */
#include <setjmp.h>

enum { ROUNDS = 10, WORK = 60000000 };

static jmp_buf target;

__attribute__((noinline)) static void spin(long n)
{
    for (volatile long i = 0; i < n; i++)
        ;
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void jumper(long n)
{
    spin(n);
    longjmp(target, 1);
}

__attribute__((noinline)) static void outer(long n)
{
    jumper(n);
    __asm__ volatile("" ::: "memory");
}

int main(void)
{
    for (volatile int i = 0; i < ROUNDS; i++)
        if (!setjmp(target))
            outer(WORK);
    spin(WORK); /* the last one is found gone by the next sample */
    return 0;
}
