/* What test_diff_cli.py builds in several ways: PADDED shifts addresses, STEP renames a function,
 * SLOWER makes it slower, EXTRA adds one, SHARE is that of a value. */
#include <stdio.h>
#include <stdlib.h>

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

#ifdef SHARE
/* It is 7 in SHARE of 100 cases, else 9. */
__attribute__((noinline, noclone)) int pick(int a, int b)
{
    return a * b + 3;
}

static void pick_often(unsigned long times, unsigned seed)
{
    while (times--) {
        seed = seed * 1103515245u + 12345u;
        sink = (unsigned long)pick((seed >> 16) % 100 < SHARE ? 7 : 9, 11);
    }
}
#endif

int main(int argc, char **argv)
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
#ifdef SHARE
    if (argc == 3)
        pick_often(strtoul(argv[1], NULL, 10), (unsigned)strtoul(argv[2], NULL, 10));
#else
    (void)argc;
    (void)argv;
#endif
    return 0;
}
