/* Works for 0.3 s of CPU time in little memory, makes code, which ends a shadow, uses so many
 * megabytes, and works for 2 s. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static uint64_t sum = 1;

static void work(void)
{
    for (uint64_t i = 0; i < 100000; i++)
        sum = sum * 31 + i;
}

static __attribute__((noinline)) void later(void)
{
    for (uint64_t i = 0; i < 100000; i++)
        sum = sum * 37 + i;
}

static __attribute__((noinline)) void repeat(void (*what)(void), long ms)
{
    clock_t end = clock() + ms * (CLOCKS_PER_SEC / 1000);
    while (clock() < end)
        what();
}

int main(int argc, char **argv)
{
    enum { PAGE = 4096 };
    size_t size = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1) << 20;
    repeat(work, 300);
    unsigned char *code =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *code = 0xc3;
    volatile char *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise((void *)memory, size, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < size; at += PAGE)
        memory[at] = 1;
    repeat(later, 2000);
    printf("%d\n", sum != 0);
    return 0;
}
