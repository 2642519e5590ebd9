/* usage: known N [fork]: calls `leaf` N times, `turn` N times with 8 cases, each of which is as
 * frequent, and `order` from libc's qsort. With `fork` a child does the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int order(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return x < y ? -1 : x > y;
}

/* Every fourth call takes the rare way. */
__attribute__((noinline, noclone)) static unsigned leaf(unsigned n)
{
    if (n % 4 == 0)
        return n ^ 0x55555555;
    for (unsigned i = 0; i < 3; i++)
        n = n * 1664525 + 1013904223;
    return n;
}

__attribute__((noinline, noclone)) static unsigned turn(unsigned n)
{
    switch (n % 8) {
    case 0:
        return n * 3;
    case 1:
        return n ^ 5;
    case 2:
        return n - 9;
    case 3:
        return n << 2;
    case 4:
        return n / 3;
    case 5:
        return ~n;
    case 6:
        return n % 7;
    default:
        return leaf(n | 1) + 1;
    }
}

int main(int argc, char **argv)
{
    unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 1000, sum = 0;
    int *values = malloc(count * sizeof *values);
    pid_t child = argc > 2 && strcmp(argv[2], "fork") == 0 ? fork() : -1;
    for (unsigned i = 0; i < count; i++) {
        values[i] = (int)(i * 7919 % 1009);
        sum += leaf(i) + turn(i);
    }
    qsort(values, count, sizeof *values, order);
    for (unsigned i = 0; i < count; i++)
        sum += (unsigned)values[i] * i;
    if (child > 0)
        waitpid(child, NULL, 0);
    if (child != 0)
        printf("%u\n", sum);
    return 0;
}
