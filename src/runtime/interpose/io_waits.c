/* Calls that wait for input, and those that say where it comes from: they move no bytes, and are
 * here for the sake of shadows only (record --log-input, input/input_calls.h). Those with a mask of
 * signals are in signals_waits.c. */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "runtime/interpose/io.h"
#include "runtime/interpose/real.h"

/* ---- poll, select ---- */

int __poll_chk(struct pollfd *, nfds_t, int, size_t);

EXPORT int poll(struct pollfd *list, nfds_t count, int limit)
{
    return LOGGED(REAL(poll)(list, count, limit), SYS_poll, list, count, limit);
}

EXPORT int __poll_chk(struct pollfd *list, nfds_t count, int limit, size_t room)
{
    return LOGGED(REAL(__poll_chk)(list, count, limit, room), SYS_poll, list, count, limit);
}

/* libc makes pselect6 of it, with a time limit of its own, and writes what is left of that back. */
EXPORT int select(int count, fd_set *restrict reads, fd_set *restrict writes,
                  fd_set *restrict fails, struct timeval *restrict limit)
{
    struct timespec rest = {0, 0};
    int result = LOGGED(({
                            int got = REAL(select)(count, reads, writes, fails, limit);
                            if (limit)
                                rest = (struct timespec){limit->tv_sec, limit->tv_usec * 1000};
                            got;
                        }),
                        SYS_pselect6, count, reads, writes, fails, limit ? &rest : NULL);
    return result;
}

/* ---- epoll ---- */

EXPORT int epoll_wait(int fd, struct epoll_event *events, int most, int limit)
{
    return LOGGED(REAL(epoll_wait)(fd, events, most, limit), SYS_epoll_wait, fd, events, most);
}

EXPORT int epoll_ctl(int fd, int what, int which, struct epoll_event *event)
{
    return LOGGED(REAL(epoll_ctl)(fd, what, which, event), SYS_epoll_ctl, fd, what, which, event);
}

/* ---- sockets ---- */

EXPORT int accept(int fd, struct sockaddr *restrict from, socklen_t *restrict length)
{
    return LOGGED(REAL(accept)(fd, from, length), SYS_accept, fd, from, length);
}

EXPORT int accept4(int fd, struct sockaddr *restrict from, socklen_t *restrict length, int flags)
{
    return LOGGED(REAL(accept4)(fd, from, length, flags), SYS_accept4, fd, from, length, flags);
}

EXPORT int getsockname(int fd, struct sockaddr *restrict name, socklen_t *restrict length)
{
    return LOGGED(REAL(getsockname)(fd, name, length), SYS_getsockname, fd, name, length);
}

EXPORT int getpeername(int fd, struct sockaddr *restrict name, socklen_t *restrict length)
{
    return LOGGED(REAL(getpeername)(fd, name, length), SYS_getpeername, fd, name, length);
}

EXPORT int getsockopt(int fd, int level, int name, void *restrict value, socklen_t *restrict length)
{
    return LOGGED(REAL(getsockopt)(fd, level, name, value, length), SYS_getsockopt, fd, level, name,
                  value, length);
}
