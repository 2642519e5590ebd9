/* Descriptors: made, copied, moved, closed in ranges, read and written without waiting. */
#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *volatile nowhere = (void *)8;

/* Mostly a low one. (docs/limits.md: those from the soft limit on can be the profiler's.) */
static int fd_draw(struct draw *d)
{
    static const int odd[] = {-1, 100, 500, 900, 1000, 1020, 1023, 1 << 20};
    int fd = draw(d, 8) ? (int)draw(d, 24) : PICK(d, odd);
    say(" fd %d", fd);
    return fd;
}

static void op_make(struct draw *d, struct script *s)
{
    int ends[2] = {-7, -7};
    unsigned way = draw(d, 8);
    (void)s;
    say(" way %u", way);
    switch (way) {
    case 0: said(pipe(ends)); break;
    case 1: said(pipe2(ends, O_NONBLOCK | O_CLOEXEC)); break;
    case 2: said(pipe(nowhere)); return;
    case 3: said(memfd_create("file", 0)); return;
    case 4: said(eventfd(3, EFD_NONBLOCK)); return;
    case 5: said(epoll_create1(EPOLL_CLOEXEC)); return;
    case 6: said(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends)); break;
    default: said(open(draw(d, 3) ? "/dev/null" : "/nonexistent", O_RDWR)); return;
    }
    say(" %d %d", ends[0], ends[1]);
}

static void op_copy(struct draw *d, struct script *s)
{
    static const int commands[] = {F_DUPFD,  F_DUPFD_CLOEXEC, F_SETFD,      F_GETFL, F_SETFL,
                                   F_GETOWN, F_SETSIG,        F_GETPIPE_SZ, 9999};
    int from = fd_draw(d), to = fd_draw(d);
    unsigned way = draw(d, 6);
    (void)s;
    say(" way %u", way);
    if (way == 0)
        said(dup(from));
    else if (way == 1)
        said(dup2(from, to));
    else if (way == 2)
        said(dup3(from, to, draw(d, 3) ? O_CLOEXEC : 77));
    else if (way == 3)
        said(syscall(SYS_dup2, (long)from, (long)to));
    else
        said(fcntl(from, PICK(d, commands), draw(d, 40)));
}

static void op_close(struct draw *d, struct script *s)
{
    int first = fd_draw(d);
    unsigned way = draw(d, 9), count = draw(d, 12);
    (void)s;
    say(" way %u", way);
    if (way == 0)
        said(close_range((unsigned)first, (unsigned)first + count, 0));
    else if (way == 1)
        said(close_range((unsigned)first, ~0u, draw(d, 2) ? CLOSE_RANGE_CLOEXEC : 0));
    else if (way == 2)
        said(close_range((unsigned)first, (unsigned)first - 1, 0));
    else if (way == 3)
        closefrom(first < 0 ? 30 : first);
    else if (way == 4)
        said(syscall(SYS_close, (long)first));
    else if (way == 5)
        said(syscall(SYS_close_range, (long)first, (long)first + count, 0L));
    else
        said(close(first));
}

/* Where something is, without waiting. */
static void op_io(struct draw *d, struct script *s)
{
    char bytes[32];
    int fd = fd_draw(d);
    unsigned way = draw(d, 8);
    struct pollfd poll_one = {.fd = fd, .events = POLLIN | POLLOUT};
    (void)s;
    say(" way %u", way);
    memset(bytes, 1, sizeof bytes);
    int flags = fcntl(fd, F_GETFL);
    bool ready = flags >= 0 && fd > 2 && poll(&poll_one, 1, 0) > 0;
    say(" %s %x", ready ? "ready" : "not", ready ? (unsigned)poll_one.revents : 0);
    if (!ready)
        return;
    if (way < 3 && poll_one.revents & POLLIN)
        said(read(fd, way ? bytes : (void *)8, draw(d, 20)));
    else if (way < 6 && poll_one.revents & POLLOUT && !(poll_one.revents & (POLLERR | POLLHUP)))
        said(write(fd, way == 3 ? (void *)8 : bytes, 8));
    else if (way == 6)
        said(lseek(fd, (long)draw(d, 10) - 2, SEEK_CUR));
    else
        said(ftruncate(fd, draw(d, 100)));
}

static void op_epoll(struct draw *d, struct script *s)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data.u32 = 5}, got[4];
    int queue = fd_draw(d), fd = fd_draw(d), command = (int)draw(d, 4);
    (void)s;
    said(epoll_ctl(queue, command, fd, draw(d, 8) ? &event : NULL));
    long count = said(epoll_wait(queue, got, 4, 0));
    for (long i = 0; i < count; i++)
        say(" %x", got[i].events);
}

/* Which names there are in /proc/self/fd, below those that may be a profiler's. */
static void op_list(struct draw *d, struct script *s)
{
    char name[40], to[64];
    (void)s;
    for (int i = 0, fd = (int)draw(d, 12); i < 3; i++, fd++) {
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        long length = readlink(name, to, sizeof to - 1);
        to[length < 0 ? 0 : length] = 0;
        to[strcspn(to, ":")] = 0;
        say(" %d %s", fd, fd > 2 ? to : length < 0 ? "none" : "there");
    }
}

const struct operation file_operations[] = {
    {"make", op_make, 14}, {"copy", op_copy, 12}, {"close", op_close, 10}, {"io", op_io, 14},
    {"epoll", op_epoll, 4}, {"list", op_list, 3}, {NULL, NULL, 0},
};
