/* One function stores for two callers. What `keep` has it store is read; the first of what `lose`
 * has it store is overwritten. `spread` has it called in two to the n contexts. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART static __attribute__((noinline, noclone))

APART void store(volatile uint64_t *to, uint64_t value)
{
    *to = value;
    __asm__ volatile("");
}

APART uint64_t keep(volatile uint64_t *at, uint64_t i)
{
    store(at, i);
    return *at;
}

APART uint64_t lose(volatile uint64_t *at, uint64_t i)
{
    store(at, i);
    store(at, i + 1);
    return *at;
}

APART uint64_t both(volatile uint64_t *at, uint64_t n)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        sum += keep(at, 2 * i);
        sum += lose(at, 2 * i + 1);
    }
    return sum;
}

APART uint64_t spread(volatile uint64_t *at, uint64_t levels)
{
    if (!levels)
        return lose(at, *at + 1);
    uint64_t first = spread(at, levels - 1), second = spread(at, levels - 1);
    __asm__ volatile("" : "+r"(second)); /* both are calls, not a loop */
    return first + second;
}

int main(int argc, char **argv)
{
    static volatile uint64_t place;
    if (argc < 3)
        return 2;
    uint64_t n = strtoull(argv[2], NULL, 0);
    uint64_t sum = strcmp(argv[1], "spread") ? both(&place, n) : spread(&place, n);
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
