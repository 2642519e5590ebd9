/* exhausted NUMBERS: opens files until no descriptor is left, as servers do under load, and works then in code that nothing has executed before. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { NUMBERS = 2000000, FEW = 64 };

static int compare(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return x < y ? -1 : x > y;
}

static __attribute__((noinline)) unsigned without(int count)
{
    static unsigned numbers[NUMBERS];
    unsigned x = 1, wrong = 0;
    for (int i = 0; i < count; i++)
        numbers[i] = x = x * 1664525u + 1013904223u;
    qsort(numbers, (size_t)count, sizeof *numbers, compare);
    for (int i = 1; i < count; i++)
        wrong += numbers[i - 1] > numbers[i];
    return wrong;
}

int main(int argc, char **argv)
{
    /* "lower": no descriptor may be had at all any more, whoever has kept one. */
    const char *how = argc > 2 ? argv[2] : "";
    rlim_t most = *how ? 3 : FEW;
    struct rlimit limit = {most, most};
    if (argc < 2 || atoi(argv[1]) > NUMBERS || setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 1;
    while (open("/dev/null", O_RDONLY) >= 0)
        ;
    printf("%u wrong\n", without(atoi(argv[1])));
    return 0;
}
