/* What test_diff_cli.py builds in several ways: PADDED shifts addresses, STEP renames a function,
 * SLOWER makes it slower, EXTRA adds one. */
#include <stdio.h>

#ifndef STEP
#define STEP step
#endif
#ifndef SLOWER
#define SLOWER 0
#endif
#define FUNCTION __attribute__((noinline, noclone)) void

volatile unsigned long sink;

#ifdef PADDED
FUNCTION padding(int x)
{
    printf("%d %d %d\n", x, x / 3, x % 7);
}
#endif

#define SPIN(times)                                                                                \
    for (unsigned long i = 0; i < (times); i++)                                                    \
    sink = sink * 6364136223846793005ul + i

FUNCTION leaf(void)
{
    SPIN(20000);
}

FUNCTION STEP(void)
{
    SPIN(20000 * (100 + SLOWER) / 100);
    leaf();
}

FUNCTION other(void)
{
    SPIN(20000);
}

#ifdef EXTRA
FUNCTION extra(void)
{
    SPIN(10000);
}
#endif

int main(void)
{
#ifdef PADDED
    if (sink)
        padding(3);
#endif
    for (int i = 0; i < ROUNDS; i++) {
        STEP();
        other();
#ifdef EXTRA
        extra();
#endif
    }
    return 0;
}
