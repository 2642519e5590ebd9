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
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <time.h>
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

static void op_timerfd(struct draw *d, struct script *s)
{
    static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_BOOTTIME, 99};
    struct itimerspec soon = {.it_value = {0, 1000000}}, now = {0};
    uint64_t times = 0;
    int flags = draw(d, 4) ? TFD_NONBLOCK | TFD_CLOEXEC : 99;
    (void)s;
    int fd = (int)said(timerfd_create(PICK(d, clocks), flags));
    if (fd < 0)
        return;
    said(read(fd, &times, sizeof times));
    said(timerfd_settime(fd, 0, draw(d, 6) ? &soon : (void *)8, NULL));
    struct pollfd one = {.fd = fd, .events = POLLIN};
    if (draw(d, 2))
        while (poll(&one, 1, 100) < 0 && errno == EINTR)
            ;
    said(timerfd_settime(fd, 0, &(struct itimerspec){0}, &now));
    said(timerfd_gettime(fd, draw(d, 4) ? &now : (void *)8));
    say(" %ld", (long)now.it_value.tv_sec);
    close(fd);
}

/* What goes from one pipe to another, and into a file. */
static void op_splice(struct draw *d, struct script *s)
{
    int a[2], b[2], file = memfd_create("splice", MFD_CLOEXEC);
    char bytes[32] = "";
    loff_t offset = (loff_t)draw(d, 9) - 1;
    unsigned flags = draw(d, 4) ? SPLICE_F_NONBLOCK : 99;
    (void)s;
    if (file < 0 || pipe2(a, O_NONBLOCK | O_CLOEXEC) != 0)
        return;
    if (pipe2(b, O_NONBLOCK | O_CLOEXEC) == 0) {
        struct iovec part = {bytes, 5};
        said(write(a[1], "hello", 5));
        said(tee(a[0], b[1], draw(d, 10), flags));
        said(splice(a[0], NULL, file, draw(d, 3) ? &offset : NULL, 3, flags));
        said(splice(a[0], &offset, b[1], NULL, 3, flags));
        said(vmsplice(b[1], &part, 1, flags));
        said(read(b[0], bytes, sizeof bytes));
        said(sendfile(b[1], file, &offset, 4));
        said(copy_file_range(file, NULL, file, &offset, 3, 0));
        said(fcntl(a[0], F_SETPIPE_SZ, 4096 << draw(d, 4)));
        close(b[0]);
        close(b[1]);
    }
    close(a[0]);
    close(a[1]);
    close(file);
}

static void op_seals(struct draw *d, struct script *s)
{
    static const int seals[] = {F_SEAL_WRITE, F_SEAL_SHRINK,       F_SEAL_GROW,
                                F_SEAL_SEAL,  F_SEAL_FUTURE_WRITE, 999};
    int fd = memfd_create("seals", MFD_CLOEXEC | (draw(d, 5) ? MFD_ALLOW_SEALING : 0));
    (void)s;
    said(pwrite(fd, "bytes", 5, 4090));
    for (unsigned i = draw(d, 3); i; i--)
        said(fcntl(fd, F_ADD_SEALS, PICK(d, seals)));
    said(fcntl(fd, F_GET_SEALS));
    said(pwrite(fd, "more", 4, 0));
    said(ftruncate(fd, draw(d, 2) ? 100 : 10000));
    said(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096));
    void *at = said_address(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    if (at != MAP_FAILED)
        munmap(at, 4096);
    said(lseek(fd, 0, SEEK_END));
    close(fd);
}

static void op_pidfd(struct draw *d, struct script *s)
{
    static const int signals[] = {0, SIGURG, SIGWINCH, SIGCONT, 65};
    long fd = syscall(SYS_pidfd_open, draw(d, 6) ? (long)getpid() : -1L, draw(d, 6) ? 0L : 99L);
    (void)s;
    say(" %s", fd < 0 ? "none" : "opened");
    said(syscall(SYS_pidfd_send_signal, fd, (long)PICK(d, signals), draw(d, 4) ? NULL : (void *)8,
                 draw(d, 8) ? 0L : 99L));
    long copy = syscall(SYS_pidfd_getfd, fd, (long)draw(d, 30), 0L);
    say(" %s", copy < 0 ? "none" : "copied");
    if (copy >= 0)
        close((int)copy);
    if (fd >= 0)
        close((int)fd);
}

const struct operation file_operations[] = {
    {"timerfd", op_timerfd, 4}, {"splice", op_splice, 5}, {"seals", op_seals, 4},
    {"pidfd", op_pidfd, 4},     {"make", op_make, 14},    {"copy", op_copy, 12},
    {"close", op_close, 10},    {"io", op_io, 14},        {"epoll", op_epoll, 4},
    {"list", op_list, 3},       {NULL, NULL, 0},
};
