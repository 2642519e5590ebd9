/* System calls that SA_RESTART does not restart, made all the time, in threads that burn CPU
 * between: none may ever fail with EINTR. Prints the number that did. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "spin.h"

static long interrupted, calls;

static void check(long result)
{
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    if (result < 0 && errno == EINTR)
        __atomic_fetch_add(&interrupted, 1, __ATOMIC_RELAXED);
}

static void *work(void *argument)
{
    int epoll = epoll_create1(0), pair[2];
    struct timeval short_wait = {0, 1000};
    char byte;
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &short_wait, sizeof short_wait);
    for (int i = 0; i < 1500; i++) {
        struct epoll_event event;
        struct timeval wait = {0, 100};
        struct timespec pause = {0, 1000};
        check(nanosleep(&pause, NULL));
        check(poll(NULL, 0, 0));
        check(epoll_wait(epoll, &event, 1, 0));
        check(select(0, NULL, NULL, NULL, &wait));
        if (i % 16 == 0)
            check(recv(pair[0], &byte, 1, 0));
        volatile unsigned long r = spin(100000);
        (void)r;
    }
    return argument;
}

int main(void)
{
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    printf("interrupted %ld\n", interrupted);
    return calls < 1000;
}
