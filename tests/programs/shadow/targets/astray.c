/* Waits for a signal's handler in a loop, then sleeps for so many milliseconds. A shadow, which
 * gets no signals, waits on. */
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static volatile sig_atomic_t rung;
static volatile unsigned long turns;

static void ring(int signal)
{
    (void)signal;
    rung = 1;
}

int main(int argc, char **argv)
{
    long ms = argc > 1 ? atol(argv[1]) : 1000;
    struct itimerval soon = {.it_value = {.tv_usec = 50000}};
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    signal(SIGALRM, ring);
    setitimer(ITIMER_REAL, &soon, NULL);
    while (!rung)
        turns++;
    while (nanosleep(&left, &left))
        ;
    return 0;
}
