/* Many threads: `threads sleep COUNT MILLISECONDS` or `threads short COUNT A_SECOND`.
 *
 * sleep: COUNT threads, which wake once a second and work a little, for so long.
 * short: COUNT threads that end at once, A_SECOND a second, a hundredth of them at a time.
 *
 * Prints CPU time until all threads had begun, CPU time of all, both in microseconds, and the
 * resident memory in kB when all had begun (of sleep), or at the end. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STACK = 64 << 10, NAP_MS = 1000, WORK = 2000, BATCHES = 100 };

static sem_t begun;
static int ends;
static long milliseconds;

static uint64_t clock_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

static long resident_kb(void)
{
    long size = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f) {
        if (fscanf(f, "%ld %ld", &size, &resident) != 2)
            resident = 0;
        fclose(f);
    }
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void work(void)
{
    for (volatile int i = 0; i < WORK; i++)
        continue;
}

static void *sleeper(void *unused)
{
    struct timespec nap = {NAP_MS / 1000, NAP_MS % 1000 * 1000000};
    sem_post(&begun);
    while (!__atomic_load_n(&ends, __ATOMIC_RELAXED)) {
        nanosleep(&nap, NULL);
        work();
    }
    return unused;
}

static void *short_one(void *unused)
{
    work();
    return unused;
}

static pthread_t *threads_start(long count, void *(*run)(void *))
{
    pthread_attr_t small;
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK);
    for (long i = 0; i < count; i++) {
        int error = threads ? pthread_create(&threads[i], &small, run, NULL) : ENOMEM;
        if (error) {
            fprintf(stderr, "bench-threads: thread %ld: %s\n", i, strerror(error));
            exit(1);
        }
    }
    pthread_attr_destroy(&small);
    return threads;
}

static void threads_end(pthread_t *threads, long count)
{
    for (long i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

static void sleeping(long count)
{
    struct timespec rest = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    pthread_t *threads = threads_start(count, sleeper);
    for (long i = 0; i < count; i++)
        while (sem_wait(&begun) != 0)
            continue;
    uint64_t start = clock_us(CLOCK_PROCESS_CPUTIME_ID);
    long resident = resident_kb();
    while (nanosleep(&rest, &rest) != 0)
        continue;
    __atomic_store_n(&ends, 1, __ATOMIC_RELAXED);
    threads_end(threads, count);
    printf("%llu %llu %ld\n", (unsigned long long)start,
           (unsigned long long)clock_us(CLOCK_PROCESS_CPUTIME_ID), resident);
}

static void short_ones(long count, long a_second)
{
    long at_a_time = a_second / BATCHES;
    uint64_t next = clock_us(CLOCK_MONOTONIC);
    for (long i = 0; i < count; i += at_a_time) {
        threads_end(threads_start(at_a_time, short_one), at_a_time);
        next += 1000000 / BATCHES;
        struct timespec at = {(time_t)(next / 1000000), (long)(next % 1000000 * 1000)};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
            continue;
    }
    printf("0 %llu %ld\n", (unsigned long long)clock_us(CLOCK_PROCESS_CPUTIME_ID), resident_kb());
}

int main(int argc, char **argv)
{
    long count = argc == 4 ? atol(argv[2]) : 0, second = argc == 4 ? atol(argv[3]) : 0;
    if (count < 1 || second < BATCHES) {
        fprintf(
            stderr,
            "usage: bench-threads sleep COUNT MILLISECONDS | short COUNT A_SECOND (%d at least)\n",
            BATCHES);
        return 2;
    }
    sem_init(&begun, 0, 0);
    milliseconds = second;
    if (!strcmp(argv[1], "short"))
        short_ones(count, second);
    else
        sleeping(count);
    return 0;
}
