/* Moves bytes by every function that there is for it, the same number by each family:
 *
 *   read:   by_read 1/4, by_vector 1/4, by_stream 1/4, by_socket 1/4        write: likewise
 *
 * argv: file to read (zeroes), KiB by each. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static char buffer[4096];

NOINLINE static void by_read(int in, int out, long total)
{
    for (long at = 0, i = 0; at < total; i++) {
        size_t size = i % 3 == 0 ? 1000 : i % 3 == 1 ? 24 : 3072;
        ssize_t n = i & 1 ? pread(in, buffer, size, at) : read(in, buffer, size);
        at += n;
        n = i & 1 ? pwrite(out, buffer, (size_t)n, at) : write(out, buffer, (size_t)n);
    }
}

NOINLINE static void by_vector(int in, int out, long total)
{
    struct iovec v[2] = {{buffer, 100}, {buffer + 100, 900}};
    for (long at = 0, i = 0; at < total; i++) {
        ssize_t n = i & 1 ? preadv(in, v, 2, at) : preadv2(in, v, 2, at, 0);
        at += n;
        n = i & 1 ? pwritev(out, v, 2, at) : writev(out, v, 2);
    }
}

NOINLINE static void by_stream(const char *path, long total)
{
    FILE *in = fopen(path, "r"), *out = fopen("/dev/null", "w");
    for (long at = 0; at < total; at += 2048) {
        fread(buffer, 1, 2000, in);
        fwrite(buffer, 1, 1000, out);
        for (int i = 0; i < 48; i++) {
            fgetc(in);
            fputc('x', out);
        }
        fprintf(out, "%900.3f%100d", 1.5, 7);
    }
    fclose(in);
    fclose(out);
}

NOINLINE static void by_socket(long total)
{
    int pair[2];
    struct iovec v = {buffer, 512};
    struct msghdr message = {.msg_iov = &v, .msg_iovlen = 1};
    struct mmsghdr many = {.msg_hdr = message};
    socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
    for (long at = 0; at < total; at += 2048) {
        send(pair[0], buffer, 512, 0);
        sendto(pair[0], buffer, 512, 0, NULL, 0);
        sendmsg(pair[0], &message, 0);
        sendmmsg(pair[0], &many, 1, 0);
        recv(pair[1], buffer, 4096, 0);
        recvfrom(pair[1], buffer, 4096, 0, NULL, NULL);
        recvmsg(pair[1], &message, 0);
        recvmmsg(pair[1], &many, 1, 0, NULL);
    }
}

int main(int argc, char **argv)
{
    long total = (argc > 2 ? atol(argv[2]) : 4096) * 1024;
    int in = open(argv[1], O_RDONLY), out = open("/dev/null", O_WRONLY);
    by_read(in, out, total);
    by_vector(in, out, total);
    by_stream(argv[1], total);
    by_socket(total);
    printf("%s\n", "done");
    return 0;
}
