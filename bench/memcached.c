/* A load for memcached: connections that each ask for one value after the other, in a closed loop.
 *
 *     bench-memcached PORT CONNECTIONS SECONDS
 *
 * Stores KEYS values first. Prints the requests answered, and the 99th percentile of the time from
 * a request to its answer, in microseconds. Ends with status 1 where an answer is wrong. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { KEYS = 1000, VALUE = 100, CONNECTIONS_MOST = 256, BUCKETS = 1 << 16, BUCKET_US = 2 };

struct connection {
    int fd;
    uint64_t asked_ns;
    size_t had, wanted; /* bytes of the answer */
    char answer[2 * VALUE + 64];
};

static struct connection connections[CONNECTIONS_MOST];
static uint64_t histogram[BUCKETS];
static uint32_t state = 1;

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "bench-memcached: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static unsigned key_next(void)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % KEYS;
}

static int connect_to(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        fail("connect to 127.0.0.1");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static void send_all(int fd, const char *text, size_t length)
{
    if (send(fd, text, length, MSG_NOSIGNAL) != (ssize_t)length)
        fail("send");
}

static void store_values(int fd)
{
    char request[VALUE + 64], value[VALUE + 1], answer[16];
    memset(value, 'v', VALUE);
    value[VALUE] = 0;
    for (unsigned key = 0; key < KEYS; key++) {
        int length =
            snprintf(request, sizeof request, "set key-%04u 0 0 %d\r\n%s\r\n", key, VALUE, value);
        send_all(fd, request, (size_t)length);
        if (recv(fd, answer, 8, MSG_WAITALL) != 8 || memcmp(answer, "STORED\r\n", 8) != 0)
            fail("store a value");
    }
}

static void ask(struct connection *c)
{
    char request[32];
    unsigned key = key_next();
    int length = snprintf(request, sizeof request, "get key-%04u\r\n", key);
    c->had = 0;
    c->wanted = (size_t)snprintf(NULL, 0, "VALUE key-%04u 0 %d\r\n", key, VALUE) + VALUE + 2 + 5;
    c->asked_ns = now_ns();
    send_all(c->fd, request, (size_t)length);
}

/* True if the answer is whole. */
static int receive(struct connection *c)
{
    ssize_t got = recv(c->fd, c->answer + c->had, sizeof c->answer - c->had, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return 0;
    if (got <= 0)
        fail("receive");
    c->had += (size_t)got;
    if (c->had < c->wanted)
        return 0;
    if (c->had > c->wanted || memcmp(c->answer + c->had - 5, "END\r\n", 5) != 0)
        fail("a wrong answer");
    uint64_t bucket = (now_ns() - c->asked_ns) / 1000 / BUCKET_US;
    histogram[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
    return 1;
}

static uint64_t work(int count, uint64_t until_ns)
{
    uint64_t answered = 0;
    int set = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &connections[i]};
        if (epoll_ctl(set, EPOLL_CTL_ADD, connections[i].fd, &event) != 0)
            fail("watch a connection");
        ask(&connections[i]);
    }
    while (now_ns() < until_ns) {
        struct epoll_event events[CONNECTIONS_MOST];
        int ready = epoll_wait(set, events, CONNECTIONS_MOST, 1000);
        for (int i = 0; i < ready; i++)
            if (receive(events[i].data.ptr)) {
                answered++;
                ask(events[i].data.ptr);
            }
    }
    return answered;
}

static uint64_t percentile_us(uint64_t of, unsigned percent)
{
    uint64_t seen = 0;
    for (uint64_t i = 0; i < BUCKETS; i++)
        if ((seen += histogram[i]) * 100 >= of * percent)
            return (i + 1) * BUCKET_US;
    return (uint64_t)BUCKETS * BUCKET_US;
}

int main(int argc, char **argv)
{
    int count = argc == 4 ? atoi(argv[2]) : 0;
    if (count < 1 || count > CONNECTIONS_MOST) {
        fprintf(stderr, "usage: bench-memcached PORT CONNECTIONS SECONDS (1 to %d connections)\n",
                CONNECTIONS_MOST);
        return 2;
    }
    for (int i = 0; i < count; i++)
        connections[i].fd = connect_to(atoi(argv[1]));
    store_values(connections[0].fd);
    uint64_t answered = work(count, now_ns() + (uint64_t)(1e9 * atof(argv[3])));
    printf("%llu requests, p99 %llu us\n", (unsigned long long)answered,
           (unsigned long long)percentile_us(answered, 99));
    return 0;
}
