/* Values that are known by construction. Each function is one instruction or two that matter. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define APART static __attribute__((noinline, noclone, noipa))

static volatile uint64_t half = 0x5ec2e75e; /* of the secret, which is nowhere in the code */
static volatile uint64_t global;
static volatile double constant = 1.5;
static volatile uint64_t sink;
static volatile double sink_double;

APART uint64_t divide(uint64_t x, uint64_t by)
{
    return x / by;
}

/* Its divisor is computed before the loop. */
APART uint64_t divide_always(uint64_t x, uint64_t by)
{
    return x / by;
}

APART uint64_t shift(uint64_t x, unsigned by)
{
    return x << by;
}

APART uint64_t load(void)
{
    return global;
}

APART void multiply(double x)
{
    sink_double = x * constant;
}

APART uint64_t circle_area(uint64_t x)
{
    return 3 * x;
}

APART uint64_t square_area(uint64_t x)
{
    return x * x;
}

static uint64_t (*volatile areas[2])(uint64_t) = {circle_area, square_area};

APART uint64_t call(uint64_t x, int which)
{
    uint64_t area = areas[which](x);
    return area + 1;
}

APART size_t length(const char *text)
{
    size_t n = 0;
    while (text[n])
        n++;
    return n;
}

int main(int argc, char **argv)
{
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000, sum = 0;
    global = half << 32 | half;
    uint64_t always = half & 0xff;
    for (uint64_t i = 0; i < n; i++) {
        sum += divide_always(i, always);
        sum += divide(i * 1001, i % 100 < 97 ? 10 : 7);
        sum += shift(i, i % 10 < 7 ? 3 : 5);
        sum += load() & 1;
        multiply((double)i);
        sum += call(i, i % 10 == 0);
        sum += length("a constant string");
    }
    sink = sum;
    printf("%llu\n", (unsigned long long)sum);
    fflush(stdout);
    if (argc > 2) /* until it is killed */
        for (;;)
            pause();
    return 0;
}
