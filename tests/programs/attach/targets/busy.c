/* busy: one thread that never waits; until SIGTERM. busy malloc: that does little but allocate.
 * busy switching: that hands over to another one, on the same processor, and back.
 * busy masked: one more, which blocks all signals from the moment on at which there is a handler
 * for SIGTRAP, and says so. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static int there[2], back[2];

/* Ends with the program. */
static void *answers(void *unused)
{
    char byte;
    while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
        continue;
    return unused;
}

static void hand_over(void)
{
    char byte = 0;
    if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
        puts("nobody answers");
}

static bool answers_begin(void)
{
    pthread_t thread;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu(), &one);
    return sched_setaffinity(0, sizeof one, &one) == 0 && pipe(there) == 0 && pipe(back) == 0 &&
           pthread_create(&thread, NULL, answers, NULL) == 0;
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
    const char *how = argc > 1 ? argv[1] : "";
    bool other = strcmp(how, "masked") == 0;
    void (*work)(void) = strcmp(how, "malloc") == 0      ? allocate
                         : strcmp(how, "switching") == 0 ? hand_over
                                                         : compute;
    pthread_t thread;
    signal(SIGTERM, on_term);
    if (work == hand_over && !answers_begin())
        return 1;
    if (other && pthread_create(&thread, NULL, masked, NULL) != 0)
        return 1;
    puts("ready");
    fflush(stdout);
    while (!stop)
        work();
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
