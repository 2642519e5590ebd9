/* System calls whose arguments are known: reads and writes of a file, and datagrams over loopback,
 * three of four of one size, the fourth of another.
 *
 * usage: sizes SECONDS FILE        (of its CPU time)
 *
 * Prints what it did: descriptors, addresses, sizes. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { OFTEN = 12345, SELDOM = 6789, FLAGS = MSG_DONTWAIT | MSG_NOSIGNAL, RECEIVE = 16411 };

static char in[1 << 15], out[1 << 15];

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int udp_open(struct sockaddr_in *address)
{
    socklen_t size = sizeof *address;
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    *address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (s < 0 || bind(s, (struct sockaddr *)address, size) ||
        getsockname(s, (struct sockaddr *)address, &size)) {
        perror("socket");
        exit(2);
    }
    return s;
}

int main(int argc, char **argv)
{
    struct sockaddr_in to;
    double seconds = argc == 3 ? atof(argv[1]) : 0;
    int file = argc == 3 ? open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
    int from = socket(AF_INET, SOCK_DGRAM, 0), s = udp_open(&to);
    if (file < 0 || from < 0 || pwrite(file, out, sizeof out, 0) != (ssize_t)sizeof out)
        return 2;
    printf(
        "{\"file\": %d, \"from\": %d, \"socket\": %d, \"in\": %llu, \"out\": %llu, \"to\": %llu, "
        "\"often\": %d, \"seldom\": %d, \"flags\": %d, \"receive\": %d}\n",
        file, from, s, (unsigned long long)(uintptr_t)in, (unsigned long long)(uintptr_t)out,
        (unsigned long long)(uintptr_t)&to, OFTEN, SELDOM, FLAGS, RECEIVE);
    fflush(stdout);
    for (unsigned i = 0; i % 64 || cpu_seconds() < seconds; i++) {
        size_t size = i % 4 ? OFTEN : SELDOM;
        if (lseek(file, 0, SEEK_SET) || read(file, in, size) != (ssize_t)size ||
            lseek(file, 0, SEEK_SET) || write(file, out, size) != (ssize_t)size)
            return 1;
        if (sendto(from, out, size, FLAGS, (struct sockaddr *)&to, sizeof to) != (ssize_t)size ||
            recvfrom(s, in, RECEIVE, 0, NULL, NULL) != (ssize_t)size)
            return 1;
    }
    return 0;
}
