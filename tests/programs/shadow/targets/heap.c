/* Uses so many megabytes, and then so many milliseconds of CPU time. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile uint64_t sink;

static uint64_t cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
    size_t size = (argc > 1 ? strtoull(argv[1], NULL, 10) : 0) << 20;
    uint64_t most = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
    volatile char *memory = malloc(size + 1);
    if (!memory)
        return 1;
    for (size_t i = 0; i < size; i += 4096)
        memory[i] = (char)(i >> 12);
    for (uint64_t start = cpu_ms(); cpu_ms() - start < most;)
        for (int k = 0; k < 1000000; k++)
            sink = sink * 31 + (uint64_t)k;
    puts("done");
    return 0;
}
