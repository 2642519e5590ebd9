/* Uses CPU time in known proportions, by its own clock: 50% in_first, 30% in_second, 20% in_kernel
 * (reads of zeroes, nearly all of it below the system call). usage: split MILLISECONDS */
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;
static char zeroes[1 << 16];

static double used(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

__attribute__((noipa)) static void turn(void)
{
    for (unsigned long i = 0; i < 20000; i++)
        sink += i;
}

__attribute__((noinline, noipa)) static void in_first(double seconds)
{
    for (double end = used() + seconds; used() < end;)
        turn();
}

__attribute__((noinline, noipa)) static void in_second(double seconds)
{
    for (double end = used() + seconds; used() < end;)
        turn();
}

__attribute__((noinline, noipa)) static void in_kernel(double seconds)
{
    int fd = open("/dev/zero", O_RDONLY);
    for (double end = used() + seconds; used() < end;)
        for (int i = 0; i < 16; i++)
            sink += (unsigned long)read(fd, zeroes, sizeof zeroes);
    close(fd);
}

int main(int count, char **arguments)
{
    double seconds = count > 1 ? atof(arguments[1]) / 1000 : 1;
    in_first(0.5 * seconds);
    in_second(0.3 * seconds);
    in_kernel(0.2 * seconds);
    return 0;
}
