/* Two processes that hand over to each other by pipes; the second one sleeps for 20 ms in every
 * thousandth turn (in `long_turn`). Prints how many seconds all took, and those long turns.
 * usage: switches TURNS */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { SOMETIMES = 1000, LONG_NS = 20000000 };
static volatile unsigned long sink;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

__attribute__((noipa)) static int hear(int fd)
{
    char what;
    int got = (int)read(fd, &what, 1);
    sink++;
    return got;
}

__attribute__((noipa)) static void tell(int fd)
{
    if (write(fd, "", 1) != 1)
        exit(1);
    sink++;
}

__attribute__((noipa)) static void long_turn(double *taken)
{
    double begun = now();
    nanosleep(&(struct timespec){0, LONG_NS}, NULL);
    *taken += now() - begun;
}

__attribute__((noipa)) static void answers(int from, int to, int report)
{
    double taken = 0;
    for (long turn = 1; hear(from) == 1; turn++) {
        if (turn % SOMETIMES == 0)
            long_turn(&taken);
        tell(to);
    }
    dprintf(report, "long %f\n", taken);
}

int main(int count, char **arguments)
{
    long turns = count > 1 ? atol(arguments[1]) : 10000;
    int there[2], back[2];
    if (pipe(there) || pipe(back))
        return 1;
    if (!fork()) {
        close(there[1]);
        answers(there[0], back[1], STDOUT_FILENO);
        return 0;
    }
    double begun = now();
    for (long i = 0; i < turns; i++) {
        tell(there[1]);
        hear(back[0]);
    }
    dprintf(STDOUT_FILENO, "all %f\n", now() - begun);
    return 0;
}
