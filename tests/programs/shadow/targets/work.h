/* What a target does when it was told what it must be, and what when it was not: reports tell the two apart by name. */
#include <stdint.h>

static __attribute__((noinline)) uint64_t work_right(uint64_t sum)
{
    for (int i = 0; i < 4000; i++)
        sum = sum * 31 + (uint64_t)i;
    return sum;
}

static __attribute__((noinline)) uint64_t work_wrong(uint64_t sum)
{
    for (int i = 0; i < 4000; i++)
        sum = sum * 37 + (uint64_t)i;
    return sum;
}
