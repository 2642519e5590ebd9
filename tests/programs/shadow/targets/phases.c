/* Does one thing after another: eight functions, each for so many million turns of a loop of some
 * five instructions, and with a call in it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t sink = 1;

static __attribute__((noinline)) uint64_t step(uint64_t x, uint64_t by)
{
    __asm__ volatile("");
    return x * 31 + by;
}

#define PHASE(n)                                                \
    static __attribute__((noinline)) void phase_##n(uint64_t turns) \
    {                                                           \
        for (uint64_t i = 0; i < turns; i++)                    \
            sink = step(sink, n);                               \
    }
PHASE(1) PHASE(2) PHASE(3) PHASE(4) PHASE(5) PHASE(6) PHASE(7) PHASE(8)

int main(int argc, char **argv)
{
    uint64_t turns = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1) * 1000000;
    phase_1(turns);
    phase_2(turns);
    phase_3(turns);
    phase_4(turns);
    phase_5(turns);
    phase_6(turns);
    phase_7(turns);
    phase_8(turns);
    printf("%llx\n", (unsigned long long)sink);
    return 0;
}
