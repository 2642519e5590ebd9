/* Works in memory that is to be of huge pages, and goes on until all of it is: "huge". "small" if
 * that is still not so after twenty seconds. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { HUGE = 2 << 20, COUNT = 5, PAGE = 4096, ROUNDS = 6000, SECONDS = 20 };

static __attribute__((noinline)) uint64_t work(volatile uint64_t *at, uint64_t sum)
{
    for (int i = 0; i < COUNT * HUGE / 8; i += 8) {
        at[i] = at[i] * 31 + sum;
        sum += at[i] ^ sum >> 7;
    }
    return sum;
}

/* kB of the mapping in which `where` lies, by a line's name. */
static long kilobytes(const void *where, const char *format)
{
    FILE *f = fopen("/proc/self/smaps", "r");
    char line[4096];
    unsigned long lo, hi;
    long found = -1;
    int inside = 0;
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "%lx-%lx ", &lo, &hi) == 2)
            inside = (uintptr_t)where >= lo && (uintptr_t)where < hi;
        else if (inside && sscanf(line, format, &found) == 1)
            break;
    }
    if (f)
        fclose(f);
    return found;
}

static int all_huge(const void *at)
{
    return kilobytes(at, "AnonHugePages: %ld") >= COUNT * HUGE / 1024;
}

int main(void)
{
    char *area =
        mmap(NULL, (COUNT + 1) * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *memory = (char *)(((uintptr_t)area + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
    uint64_t sum = 1;
    time_t end = time(NULL) + SECONDS;
    madvise(memory, COUNT * HUGE, MADV_HUGEPAGE);
    for (int i = 0; i < COUNT * HUGE; i += PAGE)
        memory[i] = 1;
    for (int round = 0; round < ROUNDS; round++)
        sum = work((volatile uint64_t *)memory, sum);
    printf("%llx\n", (unsigned long long)sum);
    while (!all_huge(memory) && time(NULL) < end)
        sum = work((volatile uint64_t *)memory, sum);
    puts(all_huge(memory) ? "huge" : "small");
    return !all_huge(memory);
}
