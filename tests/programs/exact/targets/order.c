/* Real-time signals from another process arrive in the order in which they were sent, each with its
 * value, while the receiver computes. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COUNT = 3000 };
static volatile int received, disorder, last = -1;

static void on_value(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    if (info->si_value.sival_int != last + 1)
        disorder++;
    last = info->si_value.sival_int;
    received++;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_value, .sa_flags = SA_SIGINFO};
    sigaction(SIGRTMIN + 3, &action, NULL);
    pid_t parent = getpid();
    if (fork() == 0) {
        for (int i = 0; i < COUNT; i++) {
            union sigval value = {.sival_int = i};
            while (sigqueue(parent, SIGRTMIN + 3, value) != 0)
                ;
            if (i % 5 == 0) {
                struct timespec pause = {0, 30000};
                nanosleep(&pause, NULL);
            }
        }
        _exit(0);
    }
    unsigned long sum = 0;
    char text[64];
    while (received < COUNT) { /* many short blocks, calls and returns */
        snprintf(text, sizeof text, "%lu %d", sum, received);
        sum += (unsigned long)atoi(text) % 7;
    }
    while (wait(NULL) < 0)
        ;
    printf("received %d disorder %d\n", received, disorder);
    return 0;
}
