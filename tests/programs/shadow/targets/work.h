/* What a target does when it was told what it must be, and what when it was not: reports tell the
 * two apart by name. */
#include <stdint.h>

#ifndef WORK_LOOPS
#define WORK_LOOPS 4000
#endif

static __attribute__((noinline)) uint64_t work_right(uint64_t sum)
{
    for (int i = 0; i < WORK_LOOPS; i++)
        sum = sum * 31 + (uint64_t)i;
    return sum;
}

static __attribute__((noinline)) uint64_t work_wrong(uint64_t sum)
{
    for (int i = 0; i < WORK_LOOPS; i++)
        sum = sum * 37 + (uint64_t)i;
    return sum;
}
