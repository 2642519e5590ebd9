/* Executes itself COUNT times, one after the other, each for two milliseconds of CPU time in
 * short_work.
 * usage: swarm COUNT */
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;
static volatile unsigned long sink;

static double used(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

__attribute__((noinline, noipa)) static void short_work(void)
{
    for (double end = used() + 2; used() < end;)
        for (unsigned long i = 0; i < 2000; i++)
            sink += i;
}

int main(int count, char **arguments)
{
    if (count < 2) {
        short_work();
        return 0;
    }
    for (int i = atoi(arguments[1]); i > 0; i--) {
        char *one[] = {arguments[0], NULL};
        pid_t pid;
        if (posix_spawn(&pid, arguments[0], NULL, NULL, one, environ) ||
            waitpid(pid, NULL, 0) != pid)
            return 1;
    }
    return 0;
}
