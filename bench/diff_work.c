/* A program for bench/diff.py: one function has 60% of its time, eight others share the rest. With
 * SLOWER percent more work in that one. usage: bench-diff ROUNDS */
#include <stdlib.h>

#ifndef SLOWER
#define SLOWER 0
#endif
#define FUNCTION __attribute__((noinline, noclone)) static void

volatile unsigned long sink;

enum { UNIT = 200, OF_ALL = 100 };

#define SPIN(times)                                                                                \
    do {                                                                                           \
        unsigned long s = sink;                                                                    \
        for (unsigned long i = 0; i < (times); i++)                                                \
            s = s * 6364136223846793005ul + i;                                                     \
        sink = s;                                                                                  \
    } while (0)

FUNCTION planted(void)
{
    SPIN(60 * UNIT * (OF_ALL + SLOWER) / OF_ALL);
}

#define PART(name, share)                                                                          \
    FUNCTION name(void)                                                                            \
    {                                                                                              \
        SPIN((share) * UNIT);                                                                      \
    }
PART(part_a, 12)
PART(part_b, 9)
PART(part_c, 6)
PART(part_d, 5)
PART(part_e, 3)
PART(part_f, 2)
PART(part_g, 2)
PART(part_h, 1)

FUNCTION work(void)
{
    planted();
    part_a();
    part_b();
    part_c();
    part_d();
}

FUNCTION rest(void)
{
    part_e();
    part_f();
    part_g();
    part_h();
}

int main(int argc, char **argv)
{
    for (long rounds = argc > 1 ? atol(argv[1]) : 1000; rounds > 0; rounds--) {
        work();
        rest();
    }
    return 0;
}
