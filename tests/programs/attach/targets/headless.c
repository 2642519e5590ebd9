/* The first thread ends, another one works until standard input ends. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static volatile unsigned sink;

__attribute__((noinline)) static void compute(void)
{
    for (unsigned i = 0; i < 200000; i++)
        sink = sink * 1664525 + i;
}

static void *work(void *unused)
{
    struct pollfd in = {0, POLLIN, 0};
    struct sigaction action;
    puts("ready");
    fflush(stdout);
    while (!poll(&in, 1, 0))
        compute();
    sigaction(SIGTRAP, NULL, &action);
    printf("SIGTRAP default %d\n", action.sa_handler == SIG_DFL);
    fflush(stdout);
    exit(0);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_exit(NULL);
}
