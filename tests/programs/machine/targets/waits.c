/* Waits in known ways, and says how long in each: lines "name seconds". A second thread wakes the
 * first. usage: waits ROUNDS
 *
 *     sleeps   nanosleep, 3 ms at a time
 *     reads    a pipe that `writes` writes to, which sleeps for 2 ms (in `naps`) before
 *     locks    a mutex that `holds` holds for 4 ms (in `naps`)
 *     runs     1 ms of CPU time
 *
 * The rest of `writes` and `holds` is a wait of the second thread (in `obeys`) for the first. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int order[2], answer[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static double taken[5];
static volatile unsigned long sink;

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

__attribute__((noipa)) static void naps(long ms)
{
    struct timespec t = {0, ms * 1000000};
    nanosleep(&t, NULL);
    sink++;
}

__attribute__((noipa)) static void sleeps(void)
{
    struct timespec t = {0, 3000000};
    nanosleep(&t, NULL);
    sink++;
}

__attribute__((noipa)) static void tell(int fd, char what)
{
    if (write(fd, &what, 1) != 1)
        abort();
    sink++;
}

__attribute__((noipa)) static char hear(int fd)
{
    char what;
    if (read(fd, &what, 1) != 1)
        exit(0);
    sink++;
    return what;
}

__attribute__((noipa)) static void reads(void)
{
    hear(answer[0]);
    sink++;
}

__attribute__((noipa)) static void locks(void)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    sink++;
}

__attribute__((noipa)) static void runs(void)
{
    for (double end = now(CLOCK_THREAD_CPUTIME_ID) + 1e-3; now(CLOCK_THREAD_CPUTIME_ID) < end;)
        for (int i = 0; i < 1000; i++)
            sink++;
}

__attribute__((noipa)) static void writes(void)
{
    naps(2);
    tell(answer[1], 'w');
    sink++;
}

__attribute__((noipa)) static void holds(void)
{
    pthread_mutex_lock(&mutex);
    tell(answer[1], 'h');
    naps(4);
    pthread_mutex_unlock(&mutex);
    sink++;
}

__attribute__((noipa)) static char obeys(void)
{
    char what = hear(order[0]);
    sink++;
    return what;
}

static void *second(void *unused)
{
    for (;;)
        if (obeys() == 'w')
            writes();
        else
            holds();
    return unused;
}

static void timed(int which, void (*call)(void))
{
    double begun = now(CLOCK_MONOTONIC);
    call();
    taken[which] += now(CLOCK_MONOTONIC) - begun;
}

int main(int count, char **arguments)
{
    int rounds = count > 1 ? atoi(arguments[1]) : 100;
    pthread_t thread;
    if (pipe(order) || pipe(answer) || pthread_create(&thread, NULL, second, NULL))
        return 1;
    double begun = now(CLOCK_MONOTONIC);
    for (int i = 0; i < rounds; i++) {
        timed(0, sleeps);
        tell(order[1], 'w');
        timed(1, reads);
        tell(order[1], 'h');
        hear(answer[0]); /* it holds the mutex */
        timed(2, locks);
        timed(3, runs);
    }
    printf("sleeps %f\nreads %f\nlocks %f\nruns %f\nall %f\n", taken[0], taken[1], taken[2],
           taken[3], now(CLOCK_MONOTONIC) - begun);
    return 0;
}
