/* A server with an event loop, and a child that asks it. Each connection brings one number, in a
 * message of two pieces, and is waited for by the loop in one of four ways; what has come decides
 * in which of two functions is worked on it. Whoever is told something else than natively is seen
 * to be in work_wrong. */
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "numbers.h"

static void must(int condition)
{
    if (!condition)
        work_wrong(1);
}

static void ask(const struct sockaddr_un *where, socklen_t length, uint32_t numbers)
{
    for (uint32_t i = 0; i < numbers; i++) {
        uint32_t value = nth(i), answer = 0;
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (connect(fd, (const struct sockaddr *)where, length) != 0 ||
            write(fd, &value, sizeof value) != sizeof value ||
            read(fd, &answer, sizeof answer) != sizeof answer || answer != ~value)
            _exit(3);
        close(fd);
    }
    _exit(0);
}

struct connection {
    int fd;
    uint32_t value;
};

/* Until there is something to read from the connection's descriptor. */
static void await(int epoll, struct connection *c, uint32_t how)
{
    struct pollfd one = {.fd = c->fd, .events = POLLIN};
    const struct timespec limit = {100, 0};
    struct timeval limit_too = {100, 0};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c}, events[8];
    fd_set set;
    switch (how % 4) {
    case 0: must(poll(&one, 1, 100000) == 1 && one.revents & POLLIN); return;
    case 1: must(ppoll(&one, 1, &limit, NULL) == 1 && one.revents & POLLIN); return;
    case 2:
        FD_ZERO(&set);
        FD_SET(c->fd, &set);
        must(select(c->fd + 1, &set, NULL, NULL, &limit_too) == 1 && FD_ISSET(c->fd, &set) &&
             limit_too.tv_sec >= 0);
        return;
    default:
        must(epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event) == 0);
        must(epoll_wait(epoll, events, 8, 100000) == 1 && events[0].data.ptr == c);
        must(epoll_ctl(epoll, EPOLL_CTL_DEL, c->fd, NULL) == 0);
    }
}

static uint32_t receive(int fd)
{
    union {
        uint32_t value;
        char half[2][2];
    } got = {0};
    struct iovec halves[2] = {{got.half[0], 2}, {got.half[1], 2}};
    struct msghdr message = {.msg_iov = halves, .msg_iovlen = 2};
    must(recvmsg(fd, &message, 0) == sizeof got && message.msg_flags == 0);
    return got.value;
}

/* One connection; the next state of x. */
static uint64_t serve(int epoll, int door, struct connection *c, uint32_t i, uint64_t x)
{
    struct sockaddr_un peer;
    socklen_t length = sizeof peer, kind_length = sizeof(int);
    int kind = 0;
    struct epoll_event event;
    must(epoll_wait(epoll, &event, 1, -1) == 1 && event.data.ptr == NULL);
    c->fd = i % 2 ? accept4(door, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)
                  : accept(door, (struct sockaddr *)&peer, &length);
    must(c->fd > door);
    length = sizeof peer;
    must(getpeername(c->fd, (struct sockaddr *)&peer, &length) == 0 &&
         length == offsetof(struct sockaddr_un, sun_path));
    must(getsockopt(c->fd, SOL_SOCKET, SO_TYPE, &kind, &kind_length) == 0 && kind == SOCK_STREAM);
    await(epoll, c, i);
    c->value = receive(c->fd);
    must(c->value == nth(i));
    x = c->value % 4 == 0 ? work_odd(x + c->value) : work_even(x + c->value);
    c->value = ~c->value;
    must(write(c->fd, &c->value, sizeof c->value) == sizeof c->value && close(c->fd) == 0);
    return x;
}

int main(int argc, char **argv)
{
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    uint32_t numbers = argc > 1 ? (uint32_t)atoi(argv[1]) : 1000;
    int door = socket(AF_UNIX, SOCK_STREAM, 0), epoll = epoll_create1(0), status = 0;
    socklen_t length = sizeof where;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    /* An abstract address that the kernel chooses. */
    if (bind(door, (const struct sockaddr *)&where, sizeof where.sun_family) != 0 ||
        listen(door, 8) != 0 || getsockname(door, (struct sockaddr *)&where, &length) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0)
        ask(&where, length, numbers);
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, door, &event) != 0)
        return 2;
    uint64_t x = 1;
    struct connection one;
    for (uint32_t i = 0; i < numbers; i++)
        x = serve(epoll, door, &one, i, x);
    if (waitpid(child, &status, 0) != child || status)
        return 4;
    printf("%llx\n", (unsigned long long)x);
    return 0;
}
