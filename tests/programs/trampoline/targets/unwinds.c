/* Unwinders that nobody calls through a symbol: the one that libc loads for backtrace(), at the end
 * of a deep stack and again and again, so that samples hit it, and what calls it, at any moment. */
#include <execinfo.h>
#include <stdio.h>

enum { ROUNDS = 4000, DEPTH = 60 };

__attribute__((noinline)) static int look(void)
{
    void *frames[DEPTH * 2];
    int n = backtrace(frames, DEPTH * 2);
    __asm__ volatile("" : "+r"(n));
    return n;
}

__attribute__((noinline)) static int down(int depth)
{
    int n = 0;
    if (depth)
        n = down(depth - 1);
    else
        for (int i = 0; i < 10; i++)
            n += look();
    __asm__ volatile("" : "+r"(n));
    return n;
}

int main(void)
{
    long frames = 0;
    for (int i = 0; i < ROUNDS; i++)
        frames += down(DEPTH);
    printf("%ld\n", frames);
    return 0;
}
