/* One thread computes; others sleep in every kind of system call that a signal ends early, with or
 * without SA_RESTART, and count how often one ended that should not have. With "deaf" one more
 * thread blocks all signals behind libc's back, and computes too. With "listens" there are only two
 * threads: the other one computes, and waits for input, in turns. */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { KINDS = 9, STEPS = 400000000 };

static int pipes[2], sockets[2], epoll;
static uint32_t word;
static sem_t semaphore;
static atomic_int over, interrupted;

static long asleep(int kind)
{
    struct timespec longer = {0, 20000000};
    struct timeval longer_too = {0, 20000};
    struct pollfd from = {.fd = pipes[0], .events = POLLIN};
    struct epoll_event event;
    sigset_t none;
    char byte;
    sigemptyset(&none);
    switch (kind) {
    case 0: return nanosleep(&longer, NULL);
    case 1: return clock_nanosleep(CLOCK_MONOTONIC, 0, &longer, NULL) == EINTR ? (errno = EINTR,
                                                                                  -1) : 0;
    case 2: return poll(&from, 1, 20);
    case 3: return select(0, NULL, NULL, NULL, &longer_too);
    case 4: return epoll_wait(epoll, &event, 1, 20);
    case 5: return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &longer, NULL, 0);
    case 6: return sigtimedwait(&none, NULL, &longer);
    case 7: return read(pipes[0], &byte, 1);
    default: return recv(sockets[0], &byte, 1, 0);
    }
}

static void *sleeper(void *argument)
{
    do {
        errno = 0;
        if (asleep((int)(uintptr_t)argument) < 0 && errno == EINTR)
            interrupted++;
    } while (!over);
    return NULL;
}

static void *waiter(void *argument)
{
    while (sem_wait(&semaphore) != 0)
        interrupted++;
    return argument;
}

static uint64_t compute(uint64_t steps)
{
    uint64_t x = 1;
    for (uint64_t i = 0; i < steps; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

static void *deaf(void *argument)
{
    uint64_t all = UINT64_MAX;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof all);
    *(uint64_t *)argument = compute(STEPS);
    return NULL;
}

static void *listener(void *argument)
{
    struct pollfd from = {.fd = pipes[0], .events = POLLIN};
    do
        *(uint64_t *)argument += compute(200000);
    while (poll(&from, 1, 1) == 0);
    return NULL;
}

static int listen_only(void)
{
    pthread_t one;
    uint64_t unused = 0;
    pthread_create(&one, NULL, listener, &unused);
    uint64_t x = compute(STEPS);
    if (write(pipes[1], "x", 1) != 1)
        return 1;
    pthread_join(one, NULL);
    printf("%llx\n", (unsigned long long)x);
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t threads[KINDS], one, other;
    uint64_t result = 0;
    if (pipe(pipes) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) ||
        (epoll = epoll_create1(0)) < 0)
        return 1;
    if (argc > 1 && strcmp(argv[1], "listens") == 0)
        return listen_only();
    sem_init(&semaphore, 0, 0);
    pthread_create(&one, NULL, waiter, NULL);
    for (uintptr_t i = 0; i < KINDS; i++)
        pthread_create(&threads[i], NULL, sleeper, (void *)i);
    if (argc > 1)
        pthread_create(&other, NULL, deaf, &result);
    uint64_t x = compute(STEPS);
    if (argc > 1)
        pthread_join(other, NULL);
    over = 1;
    sem_post(&semaphore);
    for (int i = 0; i < 2; i++)
        if (write(pipes[1], "x", 1) != 1 || send(sockets[1], "x", 1, 0) != 1)
            return 1;
    for (uintptr_t i = 0; i < KINDS; i++)
        pthread_join(threads[i], NULL);
    pthread_join(one, NULL);
    printf("%llx %llx, %d interrupted\n", (unsigned long long)x, (unsigned long long)result,
           interrupted);
    return 0;
}
