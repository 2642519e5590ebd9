/* Reads numbers from a socket that a child writes, in three ways, and works on each in one of two
 * functions: what was read decides in which. With "large": pieces of 300 kB. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "numbers.h"

enum { LARGE = 300000 };

static void all(int fd, void *data, size_t size, int write_it)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = write_it ? write(fd, (char *)data + done, size - done)
                             : read(fd, (char *)data + done, size - done);
        if (n <= 0)
            _exit(3);
        done += (size_t)n;
    }
}

/* One number at a time, in turns by read, readv and recv. */
static uint32_t next(int fd, int number)
{
    union {
        uint32_t value;
        char half[2][2];
    } got;
    struct iovec halves[2] = {{got.half[0], 2}, {got.half[1], 2}};
    ssize_t n = number % 3 == 0   ? read(fd, &got, sizeof got)
                : number % 3 == 1 ? readv(fd, halves, 2)
                                  : recv(fd, &got, sizeof got, 0);
    if (n != sizeof got)
        exit(2);
    return got.value;
}

int main(int argc, char **argv)
{
    static char large[LARGE];
    int end[2], numbers = argc > 1 ? atoi(argv[1]) : 1000, is_large = argc > 2, room = 2 * LARGE;
    if (socketpair(AF_UNIX, is_large ? SOCK_STREAM : SOCK_SEQPACKET, 0, end) != 0)
        return 1;
    setsockopt(end[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    pid_t child = fork();
    if (child == 0) {
        close(end[0]);
        for (uint32_t i = 0; i < (uint32_t)numbers; i++) {
            uint32_t value = nth(i);
            memcpy(large, &value, sizeof value);
            all(end[1], large, is_large ? LARGE : sizeof value, 1);
        }
        _exit(0);
    }
    close(end[1]);
    uint64_t x = 1;
    for (int i = 0; i < numbers; i++) {
        uint32_t value;
        if (is_large) {
            if (recv(end[0], large, LARGE, MSG_WAITALL) != LARGE)
                return 2;
            memcpy(&value, large, sizeof value);
        } else
            value = next(end[0], i);
        if (value != nth((uint32_t)i))
            work_wrong(x);
        x = value % 4 == 0 ? work_odd(x + value) : work_even(x + value);
    }
    char rest;
    int status = 0;
    if (read(end[0], &rest, 1) != 0 || waitpid(child, &status, 0) != child || status)
        return 4;
    printf("%llx\n", (unsigned long long)x);
    return 0;
}
