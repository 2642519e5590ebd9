/* Spends known shares of its CPU time in phases:
 *
 *   (no phase)  1/8        load  1/8, of which load/parse 1/16        run  6/8 in two threads
 *   and as much again as the whole while the recording is paused
 *
 * argv[1]: what to do instead: "many" phases, "deep" ones, odd "names", "fork", "sleep" through a
 * pause. */
#include <penumbra/penumbra.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile unsigned long sink;

NOINLINE static void spin(clockid_t clock, long ms)
{
    struct timespec t;
    clock_gettime(clock, &t);
    long long until = t.tv_sec * 1000000000LL + t.tv_nsec + ms * 1000000LL;
    do {
        for (int i = 0; i < 20000; i++)
            sink += (unsigned long)i;
        clock_gettime(clock, &t);
    } while (t.tv_sec * 1000000000LL + t.tv_nsec < until);
}

NOINLINE static void outside(long ms)
{
    spin(CLOCK_THREAD_CPUTIME_ID, ms);
    sink += 2; /* no tail call, and no other function like it: it is to be seen */
}

NOINLINE static void loads(long ms)
{
    spin(CLOCK_THREAD_CPUTIME_ID, ms);
    sink += 3; /* no tail call, and no other function like it: it is to be seen */
}

NOINLINE static void parses(long ms)
{
    spin(CLOCK_THREAD_CPUTIME_ID, ms);
    sink += 4; /* no tail call, and no other function like it: it is to be seen */
}

NOINLINE static void warms_up(long ms)
{
    spin(CLOCK_THREAD_CPUTIME_ID, ms);
    sink += 5; /* no tail call, and no other function like it: it is to be seen */
}

NOINLINE static void naps(long ms)
{
    usleep((useconds_t)ms * 1000);
    sink++;
}

NOINLINE static void *runs(void *ms)
{
    spin(CLOCK_THREAD_CPUTIME_ID, *(long *)ms);
    return NULL;
}

static void normal(long unit)
{
    long each = 3 * unit;
    pthread_t thread;
    outside(unit);
    for (int i = 0; i < 4; i++) {
        penumbra_phase_begin("load");
        loads(unit / 8);
        penumbra_phase_begin("parse");
        parses(unit / 8);
        penumbra_phase_end();
        penumbra_phase_end();
    }
    penumbra_phase_begin("run");
    pthread_create(&thread, NULL, runs, &each);
    runs(&each);
    pthread_join(thread, NULL);
    penumbra_pause();
    penumbra_pause();
    warms_up(4 * unit);
    penumbra_resume();
    warms_up(4 * unit);
    penumbra_resume();
    penumbra_phase_end();
    penumbra_phase_end();
    penumbra_resume();
}

static void many(void)
{
    char name[16];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "phase %d", i);
        penumbra_phase_begin(name);
        if (i == 999)
            loads(100);
        penumbra_phase_end();
    }
}

static void deep(void)
{
    for (int i = 0; i < 100; i++)
        penumbra_phase_begin("d");
    loads(100);
    for (int i = 0; i < 100; i++)
        penumbra_phase_end();
}

static void names(void)
{
    char long_name[6000];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    const char *odd[] = {"", "\x1b[31m\xff\xfe\n", "a/b", "\"quoted\\", NULL, long_name};
    for (unsigned i = 0; i < sizeof odd / sizeof *odd; i++) {
        penumbra_phase_begin(odd[i]);
        loads(20);
        penumbra_phase_end();
    }
}

static void forks(long unit)
{
    penumbra_phase_begin("outer");
    penumbra_phase_begin("inner");
    if (fork() == 0) {
        parses(4 * unit);
        penumbra_phase_end();
        loads(4 * unit);
        exit(0);
    }
    wait(NULL);
    penumbra_phase_end();
    penumbra_phase_end();
}

/* With -e wall: only what is not paused counts, though one nap spans both. */
static void *pauses(void *argument)
{
    (void)argument;
    usleep(200000);
    penumbra_pause();
    usleep(400000);
    penumbra_resume();
    return NULL;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "normal";
    long unit = argc > 2 ? atol(argv[2]) : 80;
    if (!strcmp(what, "normal"))
        normal(unit);
    if (!strcmp(what, "many"))
        many();
    if (!strcmp(what, "deep"))
        deep();
    if (!strcmp(what, "names"))
        names();
    if (!strcmp(what, "fork"))
        forks(unit);
    if (!strcmp(what, "sleep")) {
        pthread_t thread;
        pthread_create(&thread, NULL, pauses, NULL);
        naps(1000);
        pthread_join(thread, NULL);
    }
    puts("done");
    return 0;
}
