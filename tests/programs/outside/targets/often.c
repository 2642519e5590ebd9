/* Waits shortly again and again, and for long now and then. Writes to a file how long it has done
 * either, and its number of waits; prints how many ended early. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static unsigned early;

static void nap(long ns)
{
    const struct timespec t = {0, ns};
    early += nanosleep(&t, NULL) != 0;
}

static __attribute__((noinline)) void in_short(void)
{
    nap(20000);
    __asm__ volatile("");
}

static __attribute__((noinline)) void in_long(void)
{
    nap(20000000);
    __asm__ volatile("");
}

static double timed(void (*wait)(void))
{
    double begun = now();
    wait();
    return now() - begun;
}

struct times {
    double limit, shortly, longer;
    unsigned waits;
};

static __attribute__((noinline)) void *naps(void *context)
{
    struct times *t = context;
    for (double begun = now(); now() - begun < t->limit; t->waits++)
        if (t->waits % 500)
            t->shortly += timed(in_short);
        else
            t->longer += timed(in_long);
    return NULL;
}

/* often SECONDS FILE: in the main thread, then in another. */
int main(int argc, char **argv)
{
    struct times t = {argc > 1 ? atof(argv[1]) : 1, 0, 0, 0};
    pthread_t thread;
    naps(&t);
    pthread_create(&thread, NULL, naps, &t);
    pthread_join(thread, NULL);
    FILE *f = argc > 2 ? fopen(argv[2], "w") : NULL;
    if (f) {
        fprintf(f, "%f %f %u\n", t.shortly, t.longer, t.waits);
        fclose(f);
    }
    printf("early %u\n", early);
    return 0;
}
