/* Functions that take turns, each for so much CPU time of its thread: alpha, then beta, then gamma,
 * which run one after the other.
 *
 * argv[1]: "order": that. "wait": alpha, a long sleep, beta. "thread": alpha here, then beta in a
 * thread. "fork": alpha here, then beta in a child. "phases": alpha, beta and gamma in phases that
 * the program names. "after": alpha in a phase, then beta and gamma in none. argv[2]: milliseconds
 * of each. */
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
static long milliseconds;

/* Inlined, so that samples are the caller's own. */
static inline __attribute__((always_inline)) void spin(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    long long until = t.tv_sec * 1000000000LL + t.tv_nsec + milliseconds * 1000000LL;
    do {
        for (int i = 0; i < 200000; i++)
            sink += (unsigned long)i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    } while (t.tv_sec * 1000000000LL + t.tv_nsec < until);
}

NOINLINE static void alpha(void)
{
    spin();
    sink += 2; /* so that no other function is the same */
}

NOINLINE static void beta(void)
{
    spin();
    sink += 3;
}

NOINLINE static void gamma_(void)
{
    spin();
    sink += 4;
}

NOINLINE static void waits(void)
{
    usleep(1000 * (useconds_t)milliseconds);
    sink += 5;
}

static void *thread(void *argument)
{
    beta();
    return argument;
}

static void in_phase(const char *name, void (*function)(void))
{
    penumbra_phase_begin(name);
    function();
    penumbra_phase_end();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "order";
    milliseconds = argc > 2 ? atol(argv[2]) : 400;
    if (!strcmp(what, "phases")) {
        in_phase("a", alpha);
        in_phase("b", beta);
        in_phase("c", gamma_);
        return 0;
    }
    if (!strcmp(what, "after"))
        in_phase("a", alpha);
    else
        alpha();
    if (!strcmp(what, "order") || !strcmp(what, "after")) {
        beta();
        gamma_();
    } else if (!strcmp(what, "wait")) {
        waits();
        beta();
    } else if (!strcmp(what, "thread")) {
        pthread_t t;
        pthread_create(&t, NULL, thread, NULL);
        pthread_join(t, NULL);
    } else if (!strcmp(what, "fork")) {
        pid_t child = fork();
        if (child == 0) {
            beta();
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    return 0;
}
