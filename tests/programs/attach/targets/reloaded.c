/* One of several libraries that differ only in the name of the function that does the work. */
#include <stdint.h>
#include <time.h>

static volatile uint32_t sink;

__attribute__((noipa)) void WORK(void);
void WORK(void)
{
    for (uint32_t i = 0; i < 100000; i++)
        sink = sink * 1664525 + i;
}

void compute(void);
void compute(void)
{
    for (clock_t end = clock() + CLOCKS_PER_SEC / 2; clock() < end;)
        WORK();
}
