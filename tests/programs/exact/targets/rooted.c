/* rooted FOLDER NUMBERS: enters an empty root, as the login processes of servers do, and works
 * there in code that nothing has executed before. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { NUMBERS = 2000000 };

static int compare(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return x < y ? -1 : x > y;
}

static __attribute__((noinline)) unsigned inside(int count)
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
    if (argc < 3 || atoi(argv[2]) > NUMBERS || chroot("/no/such/folder") == 0 ||
        chroot(argv[1]) != 0 || chdir("/") != 0)
        return 1;
    closefrom(3);
    printf("%u wrong\n", inside(atoi(argv[2])));
    return 0;
}
