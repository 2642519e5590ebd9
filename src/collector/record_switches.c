/* Two processes on one processor pass a byte to and fro, first as they are and then each with the
 * events that a recorded thread has. The price is what CPU time both use more, over the switches:
 * each stops the events of one and starts the other's. By CPU time, and not the clock: other
 * programs may have the processor in between.
 *
 * A processor's timer is programmed for the first of all that are to expire. Whether that is an
 * event's depends on how much of the period is left: of the times that are measured four in a row
 * begin with less and less of it. */
#include "collector/record_switches.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/measure.h"
#include "collector/perf_event.h"

enum {
    ROUNDS = 48,
    ROUNDS_LEAST = 16,
    WARM_ROUNDS = 8,
    MOST_NS = 50000000,
    EVENTS = 2,
    TIMES = 8,
    PARTS = 4,
    DISCOVERY_NS = 1000000
};

struct hand_over {
    int socket; /* to the other process */
    bool first;        /* begins each round, ... */
    uint64_t until_ns; /* ... and no more than one of a time from then on, on CLOCK_MONOTONIC */
    const struct spool_config *config;
};

/* CPU time of one process, in nanoseconds, and what it was for; 0 rounds: they went wrong. */
struct rounds {
    uint64_t cpu_ns;
    unsigned count;
};

struct both_rounds {
    struct rounds plain[TIMES], events[TIMES];
};

static bool put(int socket, char byte)
{
    return send(socket, &byte, 1, MSG_NOSIGNAL) == 1;
}

static bool take(int socket, char *byte)
{
    return recv(socket, byte, 1, 0) == 1;
}

/* The first process says in each round whether it is the last one: on a busy machine they may take
 * long. How many there were; 0: the other one has gone. */
static unsigned go_round(const struct hand_over *h, unsigned most)
{
    enum { MORE, LAST };
    for (unsigned i = 1;; i++) {
        char byte = h->first && (i == most || monotonic_ns() > h->until_ns) ? LAST : MORE,
             answer = byte;
        if (h->first ? !put(h->socket, byte) || !take(h->socket, &answer)
                     : !take(h->socket, &byte) || !put(h->socket, byte))
            return 0;
        if (byte == LAST)
            return i;
    }
}

static struct rounds measured(const struct hand_over *h)
{
    if (!go_round(h, WARM_ROUNDS))
        return (struct rounds){0};
    uint64_t begun = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    unsigned count = go_round(h, ROUNDS);
    return (struct rounds){clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begun, count};
}

/* As the runtime's (runtime/trigger/perf.c), but for the signal, which costs nothing at a
 * switch. */
static int event_open(const struct spool_config *c, uint64_t left_ns)
{
    const struct perf_event event = {
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .period = left_ns,
        .exclude_kernel = c->exclude_kernel != 0,
        .silent = true,
        .runs = true,
    };
    return perf_event_open(&event, 0);
}

/* After so many of PARTS of half of the period: it is not to expire meanwhile. */
static struct rounds measured_with_events(const struct hand_over *h, unsigned passed)
{
    struct rounds r = {0};
    const uint64_t periods[EVENTS] = {h->config->period, DISCOVERY_NS};
    int events[EVENTS];
    for (unsigned i = 0; i < EVENTS; i++)
        events[i] = event_open(h->config, periods[i] - periods[i] * passed / (2 * PARTS));
    if (events[0] >= 0 && events[1] >= 0)
        r = measured(h);
    for (unsigned i = 0; i < EVENTS; i++)
        if (events[i] >= 0)
            close(events[i]);
    return r;
}

static struct both_rounds measure(const struct hand_over *h)
{
    struct both_rounds r;
    for (unsigned i = 0; i < TIMES; i++) {
        r.plain[i] = measured(h);
        r.events[i] = measured_with_events(h, i % PARTS);
    }
    return r;
}

/* Of a round, in both processes together, on average: of equal parts the time that was disturbed
 * least. 0: not known. */
static uint64_t round_ns(const struct rounds *a, const struct rounds *b)
{
    uint64_t least[PARTS] = {0}, sum = 0, known = 0;
    for (unsigned i = 0; i < TIMES; i++) {
        if (a[i].count < ROUNDS_LEAST || b[i].count != a[i].count)
            continue;
        uint64_t ns = (a[i].cpu_ns + b[i].cpu_ns) / a[i].count, *l = &least[i % PARTS];
        if (!*l || ns < *l)
            *l = ns;
    }
    for (unsigned i = 0; i < PARTS; i++) {
        sum += least[i];
        known += least[i] != 0;
    }
    return known ? sum / known : 0;
}

static uint64_t price_ns(const struct both_rounds *a, const struct both_rounds *b)
{
    uint64_t plain = round_ns(a->plain, b->plain), events = round_ns(a->events, b->events);
    return plain && events > plain ? (events - plain) / 2 : 0;
}

static uint64_t hand_over_ns(const struct spool_config *config, struct both_rounds *others)
{
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
        return 0;
    pid_t other = fork();
    if (other == 0) {
        close(sockets[0]);
        *others = measure(&(struct hand_over){sockets[1], false, 0, config});
        _exit(0);
    }
    close(sockets[1]);
    struct both_rounds mine = {0};
    if (other > 0)
        mine = measure(&(struct hand_over){sockets[0], true, monotonic_ns() + MOST_NS, config});
    close(sockets[0]);
    if (other > 0)
        waitpid(other, NULL, 0);
    return price_ns(&mine, others);
}

uint32_t record_switches_ns(const struct spool_config *config)
{
    cpu_set_t all, one;
    uint64_t ns = 0;
    void *shared = mmap(NULL, sizeof(struct both_rounds), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 0;
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu() % CPU_SETSIZE, &one);
    if (sched_getaffinity(0, sizeof all, &all) == 0 &&
        sched_setaffinity(0, sizeof one, &one) == 0) {
        ns = hand_over_ns(config, shared);
        sched_setaffinity(0, sizeof all, &all);
    }
    munmap(shared, sizeof(struct both_rounds));
    return (uint32_t)(ns < UINT32_MAX ? ns : UINT32_MAX);
}
