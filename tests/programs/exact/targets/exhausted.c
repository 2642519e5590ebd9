/* exhausted NUMBERS [closed|standard|forked]: opens files until no descriptor is left, as servers
 * do under load, and works then in code that nothing has executed before. Others' files are closed
 * unseen before; none but the standard ones may be had; a child works. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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

/* Not through libc: nobody is told. */
static void close_all(void)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "0"(SYS_close_range), "D"(3L), "S"((long)~0u),
                     "d"(0L) : "rcx", "r11", "memory");
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "";
    struct rlimit limit = {FEW, FEW};
    if (argc < 2 || atoi(argv[1]) > NUMBERS)
        return 1;
    if (!strcmp(how, "closed"))
        close_all();
    else if (!strcmp(how, "standard"))
        limit = (struct rlimit){3, 3};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 1;
    while (open("/dev/null", O_RDONLY) >= 0)
        ;
    fflush(stdout);
    if (!strcmp(how, "forked") && fork() != 0) {
        int status;
        return wait(&status) < 0 || status != 0;
    }
    printf("%u wrong\n", without(atoi(argv[1])));
    return 0;
}
