/* The first thread makes others, one after the other, of both kinds, that compute for a while each.
 * Until standard input ends. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned sink;

static long cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

__attribute__((noipa)) static void *by_pthread(void *unused)
{
    while (cpu_ms() < 40)
        for (int i = 0; i < 100000; i++)
            sink = sink * 3 + 1;
    return unused;
}

__attribute__((noipa)) static int by_c11(void *unused)
{
    while (cpu_ms() < 40)
        for (int i = 0; i < 100000; i++)
            sink = sink * 5 + 1;
    return unused != NULL;
}

int main(void)
{
    char c;
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    puts("ready");
    fflush(stdout);
    while (poll(&in, 1, 0) == 0) {
        pthread_t one;
        thrd_t other;
        pthread_create(&one, NULL, by_pthread, NULL);
        pthread_join(one, NULL);
        thrd_create(&other, by_c11, NULL);
        thrd_join(other, NULL);
    }
    printf("end %zd\n", read(STDIN_FILENO, &c, 1));
    return 0;
}
