/* One thread in each of the calls that wait, while others attach and detach. Prints what each
 * returned: nothing may have been interrupted. The calls have timeouts, or end with standard
 * input. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int quiet[2]; /* a socket pair that nobody writes to until the end */
static sem_t semaphore;

static void say(const char *name, long result)
{
    printf("%s %ld %d\n", name, result, result < 0 ? errno : 0);
    fflush(stdout);
}

static void *do_read(void *unused)
{
    char c;
    say("read", read(quiet[0], &c, 1));
    return unused;
}

static void *do_poll(void *unused)
{
    struct pollfd p = {.fd = quiet[0], .events = POLLIN};
    say("poll", poll(&p, 1, -1));
    return unused;
}

static void *do_select(void *unused)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(quiet[0], &set);
    say("select", select(quiet[0] + 1, &set, NULL, NULL, NULL));
    return unused;
}

static void *do_epoll(void *unused)
{
    int fd = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(fd, EPOLL_CTL_ADD, quiet[0], &event);
    say("epoll_wait", epoll_wait(fd, &event, 1, -1));
    return unused;
}

static void *do_nanosleep(void *unused)
{
    struct timespec t = {1, 500000000};
    say("nanosleep", nanosleep(&t, NULL));
    return unused;
}

static void *do_receive(void *unused)
{
    int pair[2];
    char c;
    struct timeval t = {1, 500000};
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    say("recv", recv(pair[0], &c, 1, 0));
    return unused;
}

static void *do_semaphore(void *unused)
{
    say("sem_wait", sem_wait(&semaphore));
    return unused;
}

static void *do_semop(void *unused)
{
    int id = semget(IPC_PRIVATE, 1, 0600);
    struct sembuf down = {0, -1, 0};
    struct timespec t = {1, 500000000};
    say("semtimedop", semtimedop(id, &down, 1, &t));
    semctl(id, 0, IPC_RMID);
    return unused;
}

static void *do_sigtimedwait(void *unused)
{
    sigset_t set;
    struct timespec t = {1, 500000000};
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    say("sigtimedwait", sigtimedwait(&set, NULL, &t));
    return unused;
}

/* Not only what was asked for is blocked: everything, as in many a worker thread. */
static void *do_masked(void *unused)
{
    sigset_t all, now;
    char c;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    say("masked read", read(quiet[0], &c, 1));
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    say("SIGTRAP blocked", sigismember(&now, SIGTRAP));
    return unused;
}

int main(void)
{
    void *(*const calls[])(void *) = {do_read,         do_poll,    do_select,    do_epoll,
                                      do_nanosleep,    do_receive, do_semaphore, do_semop,
                                      do_sigtimedwait, do_masked};
    enum { CALLS = sizeof calls / sizeof calls[0] };
    pthread_t threads[CALLS];
    sigset_t usr1;
    char c;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr1, NULL);
    sem_init(&semaphore, 0, 0);
    socketpair(AF_UNIX, SOCK_STREAM, 0, quiet);
    for (int i = 0; i < CALLS; i++)
        pthread_create(&threads[i], NULL, calls[i], NULL);
    puts("ready");
    fflush(stdout);
    say("end", read(STDIN_FILENO, &c, 1));
    sem_post(&semaphore);
    shutdown(quiet[1], SHUT_RDWR);
    for (int i = 0; i < CALLS; i++)
        pthread_join(threads[i], NULL);
    struct sigaction now;
    sigaction(SIGTRAP, NULL, &now);
    say("SIGTRAP default", now.sa_handler == SIG_DFL);
    return 7;
}
