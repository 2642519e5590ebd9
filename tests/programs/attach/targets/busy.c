/* busy: one thread that never waits; until SIGTERM. busy malloc: that does little but allocate.
 * busy masked: one more, which blocks all signals from the moment on at which there is a handler
 * for SIGTRAP, and says so. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t stop;
static volatile uint32_t sink;

static void on_term(int number)
{
    (void)number;
    stop = 1;
}

/* Keeps integer and floating-point numbers in registers for a long time. */
__attribute__((noipa)) static void compute(void)
{
    double sum = 0;
    uint32_t squares = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        squares += i * i;
        sum += i;
    }
    sink += squares;
    if (squares != UINT32_C(216474736) || sum != 4999950000.0)
        puts("wrong sums");
}

__attribute__((noipa)) static void allocate(void)
{
    enum { BLOCKS = 200 };
    void *blocks[BLOCKS];
    for (unsigned i = 0; i < BLOCKS; i++)
        blocks[i] = malloc(16 + i * 97 % 3000);
    for (unsigned i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}

static void *masked(void *unused)
{
    struct sigaction now = {0};
    sigset_t all;
    while (!stop && now.sa_handler == SIG_DFL) {
        compute();
        sigaction(SIGTRAP, NULL, &now);
    }
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    puts("masked");
    fflush(stdout);
    while (!stop)
        compute();
    return unused;
}

int main(int argc, char **argv)
{
    bool allocates = argc > 1 && strcmp(argv[1], "malloc") == 0, other = argc > 1 && !allocates;
    pthread_t thread;
    signal(SIGTERM, on_term);
    if (other && pthread_create(&thread, NULL, masked, NULL) != 0)
        return 1;
    puts("ready");
    fflush(stdout);
    while (!stop)
        allocates ? allocate() : compute();
    if (other)
        pthread_join(thread, NULL);
    struct sigaction now;
    sigaction(SIGTRAP, NULL, &now);
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    if (!sigisemptyset(&blocked))
        puts("signals are blocked");
    printf("SIGTRAP default %d\n", now.sa_handler == SIG_DFL);
    return 5;
}
