/* waits MS: threads that wait in different ways, and one that computes, for so many milliseconds
 * each; then all join. Prints how many system calls ended early. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int milliseconds;
static atomic_int early;
static int pipe_ends[2];
static volatile unsigned sink;

static struct timespec later(int clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_sec += milliseconds / 1000;
    t.tv_nsec += milliseconds % 1000 * 1000000L;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    return t;
}

static double now(int clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* RAW: without libc, in a function that has its frame pointer in rbp. */
static long sleep_for(const struct timespec *t)
{
#ifdef RAW
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "0"((long)SYS_nanosleep), "D"(t), "S"(0L) : "rcx",
                     "r11", "memory");
    return result;
#else
    return nanosleep(t, NULL);
#endif
}

__attribute__((noipa)) static void *in_poll(void *unused)
{
    if (poll(NULL, 0, milliseconds) != 0)
        early++;
    return unused;
}

/* A frame that hangs on rbp, which no function below it saves. */
__attribute__((noipa)) static void *in_alloca(void *unused)
{
    size_t size = 100 + (size_t)milliseconds % 100;
    char *room = __builtin_alloca(size);
    memset(room, 1, size);
    struct timespec t = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    if (sleep_for(&t) != 0 || room[size - 1] != 1)
        early++;
    return unused;
}

__attribute__((noipa)) static void *in_epoll(void *unused)
{
    struct epoll_event event;
    int fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_wait(fd, &event, 1, milliseconds) != 0)
        early++;
    close(fd);
    return unused;
}

__attribute__((noipa)) static void *in_condition(void *unused)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct timespec until = later(CLOCK_REALTIME);
    pthread_mutex_lock(&mutex);
    while (pthread_cond_timedwait(&condition, &mutex, &until) != ETIMEDOUT)
        early++;
    pthread_mutex_unlock(&mutex);
    return unused;
}

__attribute__((noipa)) static void *in_read(void *unused)
{
    char byte;
    if (read(pipe_ends[0], &byte, 1) != 0)
        early++;
    return unused;
}

__attribute__((noipa)) static void *computes(void *unused)
{
    double until = now(CLOCK_MONOTONIC) + milliseconds;
    while (now(CLOCK_MONOTONIC) < until)
        for (int i = 0; i < 100000; i++)
            sink = sink * 3 + 1;
    return unused;
}

int main(int argc, char **argv)
{
    void *(*const waits[])(void *) = {in_poll,      in_alloca, in_epoll,
                                      in_condition, in_read,   computes};
    enum { COUNT = sizeof waits / sizeof *waits };
    pthread_t threads[COUNT];
    milliseconds = argc > 1 ? atoi(argv[1]) : 500;
    if (pipe(pipe_ends))
        return 1;
    for (int i = 0; i < COUNT; i++)
        pthread_create(&threads[i], NULL, waits[i], NULL);
    for (int i = 0; i < COUNT; i++) {
        if (waits[i] == in_read)
            close(pipe_ends[1]);
        pthread_join(threads[i], NULL);
    }
    printf("early %d\n", early);
    return 0;
}
