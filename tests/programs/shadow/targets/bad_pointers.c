/* bad_pointers N: N rounds of calls that the kernel refuses, for what they point to may not be
 * read. */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

static volatile uint64_t sink;

static void compute(void)
{
    for (uint64_t i = 0; i < 200000; i++)
        sink += i * i;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 1, refused = 0;
    void *bad = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int poller = epoll_create1(0), pair[2];
    char byte[16];
    struct sockaddr_storage name;
    if (bad == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        return 1;
    for (long i = 0; i < rounds; i++) {
        compute();
        refused += poll(bad, 1, 0) < 0 && errno == EFAULT;
        refused +=
            select(pair[0] + 1, bad, NULL, NULL, &(struct timeval){0, 0}) < 0 && errno == EFAULT;
        refused += epoll_ctl(poller, EPOLL_CTL_ADD, pair[0], bad) < 0 && errno == EFAULT;
        refused += recvmsg(pair[0], bad, MSG_DONTWAIT) < 0 && errno == EFAULT;
        refused += getsockname(pair[0], (struct sockaddr *)&name, bad) < 0 && errno == EFAULT;
        refused += getsockopt(pair[0], SOL_SOCKET, SO_TYPE, byte, bad) < 0 && errno == EFAULT;
    }
    printf("refused %ld\n", refused);
    return 0;
}
