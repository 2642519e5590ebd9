/* kernels WARM ROUNDS: runs WARM rounds of C (which the collector has to make tables), then kernels
 * without CFI from two callers, the second for three times as long as the first, and one in place
 * of its caller, which samples have found running before. */
#include <stdio.h>
#include <stdlib.h>

void kernel_realigned(long rounds);
void kernel_pushing(long rounds);
void kernel_jumped_to(long rounds);
long kernel_called(long n);

static volatile long sink;

__attribute__((noinline)) long kernel_called(long n)
{
    for (long i = 0; i < n; i++)
        sink += i;
    return sink | 1;
}

__attribute__((noinline)) static void warm(long rounds)
{
    for (long i = 0; i < rounds; i++)
        sink += i;
}

__attribute__((noinline)) static void caller_once(long rounds)
{
    kernel_realigned(rounds);
    kernel_pushing(rounds);
    sink++;
}

__attribute__((noinline)) static void caller_thrice(long rounds)
{
    for (int i = 0; i < 3; i++) {
        kernel_realigned(rounds);
        kernel_pushing(rounds);
    }
    sink++;
}

__attribute__((noinline)) static void jumper(long rounds)
{
    for (long i = 0; i < 8 * rounds; i++)
        sink += i;
    kernel_jumped_to(rounds);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    warm(atol(argv[1]));
    caller_once(atol(argv[2]));
    caller_thrice(atol(argv[2]));
    for (int i = 0; i < 20; i++) {
        jumper(atol(argv[2]) / 10);
        sink++;
    }
    puts("done");
    return 0;
}
