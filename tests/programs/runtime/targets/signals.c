/* Blocks, ignores, handles and queries every signal, and prints what it sees: it must see the same
 * with and without a profiler. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spin.h"

static volatile int caught[65];

static void on_signal(int number)
{
    caught[number]++;
}

static void print_mask(const char *when)
{
    sigset_t set;
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    printf("%s:", when);
    for (int i = 1; i < 65; i++)
        if (sigismember(&set, i) == 1)
            printf(" %d", i);
    puts("");
}

static void *blocked_worker(void *argument)
{
    print_mask("new thread");
    volatile unsigned long r = spin(400000000);
    (void)r;
    return argument;
}

static void dispositions(const char *when)
{
    printf("%s:", when);
    for (int i = 1; i < 65; i++) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        if (sigaction(i, NULL, &action) != 0)
            continue;
        if (action.sa_handler == on_signal)
            printf(" %dh%d", i, sigismember(&action.sa_mask, SIGTRAP));
        else if (action.sa_handler == SIG_IGN)
            printf(" %di", i);
        else if (action.sa_handler != SIG_DFL)
            printf(" %d?", i);
    }
    puts("");
}

int main(void)
{
    sigset_t all, old;
    pthread_t thread;
    print_mask("start");
    dispositions("start");
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    print_mask("blocked");
    pthread_create(&thread, NULL, blocked_worker, NULL);
    pthread_join(thread, NULL);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask);
    for (int i = 1; i < 65; i++)
        sigaction(i, &action, NULL);
    dispositions("handled");
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    raise(SIGTRAP);
    raise(SIGUSR1);
    raise(SIGTRAP);
    __asm__ volatile("int3");
    printf("caught %d %d\n", caught[SIGTRAP], caught[SIGUSR1]);
    for (int i = 1; i < 65; i++)
        signal(i, SIG_IGN);
    dispositions("ignored");
    raise(SIGTRAP);
    volatile unsigned long r = spin(400000000);
    (void)r;
    for (int i = 1; i < 65; i++)
        signal(i, SIG_DFL);
    dispositions("default");
    fflush(stdout);
    raise(SIGTRAP); /* ends the program by SIGTRAP */
    puts("not reached");
    return 0;
}
