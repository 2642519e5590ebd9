/* Forty children one after the other, each of which uses 20 ms of CPU time. */
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(void)
{
    for (int i = 0; i < 40; i++) {
        pid_t child = fork();
        if (child < 0)
            return 1;
        if (child == 0) {
            volatile unsigned long work = 0;
            do { /* once at least: on a slow machine the time can be over before */
                for (int k = 0; k < 10000; k++)
                    work += (unsigned long)k;
            } while (cpu_seconds() < 0.020);
            _exit(work == 0);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status)
            return 1;
    }
    return 0;
}
