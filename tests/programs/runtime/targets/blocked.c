/* For so many milliseconds of CPU time in pthread_kill, which blocks all signals while it is at
 * work. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void *wait_long(void *unused)
{
    pause();
    return unused;
}

int main(int argc, char **argv)
{
    clock_t end = (clock_t)((argc > 1 ? atol(argv[1]) : 300) * (CLOCKS_PER_SEC / 1000));
    pthread_t other;
    if (pthread_create(&other, NULL, wait_long, NULL))
        return 1;
    while (clock() < end)
        for (int i = 0; i < 1000; i++)
            pthread_kill(other, 0);
    puts("done");
    return 0;
}
