/* A thousand children one after the other, each of which works for 0.2 ms of CPU time and ends. */
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__attribute__((noinline)) static int work(void)
{
    volatile unsigned long sum = 0;
    double end = cpu_seconds() + 0.0002;
    do { /* once at least: on a slow machine the time can be over before */
        for (int k = 0; k < 300; k++)
            sum += (unsigned long)k;
    } while (cpu_seconds() < end);
    return sum == 0;
}

int main(void)
{
    for (int i = 0; i < 1000; i++) {
        pid_t child = fork();
        if (child < 0)
            return 1;
        if (child == 0)
            _exit(work());
        int status;
        if (waitpid(child, &status, 0) != child || status)
            return 1;
    }
    return 0;
}
