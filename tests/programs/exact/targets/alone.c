/* Instructions that cannot be translated, in the middle of work that can: far returns, iretq, and
 * (where the processor has it) a transaction. */
#include <cpuid.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "transfers.h"

static volatile uint64_t sink;

__attribute__((noinline)) static void behind(void)
{
    for (int i = 0; i < 1000; i++)
        sink = sink + 1;
}

/* Whether a transaction was begun, or went to where it says. */
static unsigned transaction(void)
{
    unsigned a, b, c, d, status = 1;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & 1 << 11))
        return 1;
    for (int i = 0; i < 100; i++)
        __asm__ volatile("xbegin 1f; xend; 1:" : "=a"(status) : "0"(-1) : "memory");
    return 1;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 3;
    for (int i = 0; i < rounds; i++) {
        far_return();
        behind();
        interrupt_return();
        behind();
    }
    printf("%lu %u\n", sink, transaction());
    return 0;
}
