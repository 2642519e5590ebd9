/* Two processes on one processor pass a byte to and fro, in turns as they are and with the events
 * that a recorded thread has. The price is what CPU time both use more, over the switches: each
 * stops the events of one and starts the other's. By CPU time, and not the clock: other programs
 * may have the processor in between. Each round is timed for itself: on a busy machine there are
 * few, and many are disturbed.
 *
 * A processor's timer is programmed for the first of all that are to expire. Whether that is an
 * event's depends on how much of the period is left: of the turns four in a row begin with less and
 * less of it. Beside these are events that are not to expire for long: they cost the least. */
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
    EVENTS = 2,
    PARTS = 4,
    TURNS = 4 * PARTS,
    WARM_ROUNDS = 1,
    ROUNDS = 3, /* of a turn, each way */
    PART_ROUNDS = TURNS / PARTS * ROUNDS,
    LEAST_ROUNDS = 9, /* in all */
    MOST_NS = 200000000,
    DISCOVERY_NS = 1000000,
    FAR_NS = 1000000000
};

enum how { PLAIN, NEAR, FAR, HOW_COUNT };

/* CPU time of each round of one process, in nanoseconds. */
struct rounds {
    uint64_t ns[HOW_COUNT][PARTS][PART_ROUNDS];
    unsigned count[PARTS];
};

struct hand_over {
    int socket; /* to the other process */
    bool first; /* begins each round */
    const struct spool_config *config;
    struct rounds *rounds;
};

static bool put(int socket, char byte)
{
    return send(socket, &byte, 1, MSG_NOSIGNAL) == 1;
}

static bool take(int socket, char *byte)
{
    return recv(socket, byte, 1, 0) == 1;
}

/* False: the other one has gone. */
static bool go_round(const struct hand_over *h)
{
    char byte = 0;
    return h->first ? put(h->socket, byte) && take(h->socket, &byte)
                    : take(h->socket, &byte) && put(h->socket, byte);
}

static bool measured(const struct hand_over *h, uint64_t *ns)
{
    for (unsigned i = 0; i < WARM_ROUNDS + ROUNDS; i++) {
        uint64_t begun = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        if (!go_round(h))
            return false;
        if (i >= WARM_ROUNDS)
            ns[i - WARM_ROUNDS] = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun;
    }
    return true;
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

static bool measured_with(const struct hand_over *h, const uint64_t left_ns[EVENTS], uint64_t *ns)
{
    bool done = false;
    int events[EVENTS];
    for (unsigned i = 0; i < EVENTS; i++)
        events[i] = event_open(h->config, left_ns[i]);
    if (events[0] >= 0 && events[1] >= 0)
        done = measured(h, ns);
    for (unsigned i = 0; i < EVENTS; i++)
        if (events[i] >= 0)
            close(events[i]);
    return done;
}

/* After so many of PARTS of half of the period: it is not to expire meanwhile. */
static bool measured_how(const struct hand_over *h, enum how how, unsigned passed, uint64_t *ns)
{
    const uint64_t periods[EVENTS] = {h->config->period, DISCOVERY_NS};
    uint64_t left_ns[EVENTS];
    if (how == PLAIN)
        return measured(h, ns);
    for (unsigned i = 0; i < EVENTS; i++)
        left_ns[i] = how == FAR ? FAR_NS : periods[i] - periods[i] * passed / (2 * PARTS);
    return measured_with(h, left_ns, ns);
}

/* The first process says whether there is another turn: on a busy machine they take long. */
static bool turn_begins(const struct hand_over *h, uint64_t until_ns)
{
    char more = monotonic_ns() < until_ns;
    return (h->first ? put(h->socket, more) : take(h->socket, &more)) && more;
}

static void measure(const struct hand_over *h)
{
    struct rounds *r = h->rounds;
    uint64_t until_ns = monotonic_ns() + MOST_NS;
    for (unsigned i = 0; i < TURNS && turn_begins(h, until_ns); i++) {
        unsigned part = i % PARTS, at = r->count[part];
        for (unsigned how = 0; how < HOW_COUNT; how++)
            if (!measured_how(h, how, part, &r->ns[how][part][at]))
                return;
        r->count[part] += ROUNDS;
    }
}

/* What disturbs a round makes it dearer: the quartile. */
static uint64_t round_ns(const uint64_t *a, const uint64_t *b, unsigned count)
{
    uint64_t sums[PART_ROUNDS];
    for (unsigned i = 0; i < count; i++)
        sums[i] = a[i] + b[i];
    measure_median(sums, count);
    return count ? sums[count / 4] : 0;
}

static struct switch_prices prices_of(const struct rounds *a, const struct rounds *b)
{
    uint64_t sums[HOW_COUNT] = {0}, count = 0, parts = 0;
    for (unsigned i = 0; i < PARTS; i++) {
        unsigned n = a->count[i] < b->count[i] ? a->count[i] : b->count[i];
        for (unsigned how = 0; how < HOW_COUNT; how++)
            sums[how] += round_ns(a->ns[how][i], b->ns[how][i], n);
        count += n;
        parts += n != 0;
    }
    if (count < LEAST_ROUNDS || sums[NEAR] <= sums[PLAIN])
        return (struct switch_prices){0, 0};
    uint64_t near = (sums[NEAR] - sums[PLAIN]) / parts / 2;
    uint64_t far = sums[FAR] > sums[PLAIN] ? (sums[FAR] - sums[PLAIN]) / parts / 2 : 0;
    return (struct switch_prices){(uint32_t)near, (uint32_t)(far < near ? far : near)};
}

static struct switch_prices hand_over(const struct spool_config *config, struct rounds *others)
{
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
        return (struct switch_prices){0, 0};
    pid_t other = fork();
    if (other == 0) {
        close(sockets[0]);
        measure(&(struct hand_over){sockets[1], false, config, others});
        _exit(0);
    }
    close(sockets[1]);
    struct rounds mine = {0};
    if (other > 0)
        measure(&(struct hand_over){sockets[0], true, config, &mine});
    close(sockets[0]);
    if (other > 0)
        waitpid(other, NULL, 0);
    return prices_of(&mine, others);
}

struct switch_prices record_switches(const struct spool_config *config)
{
    cpu_set_t all, one;
    struct switch_prices prices = {0, 0};
    void *shared = mmap(NULL, sizeof(struct rounds), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return prices;
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu() % CPU_SETSIZE, &one);
    if (sched_getaffinity(0, sizeof all, &all) == 0 &&
        sched_setaffinity(0, sizeof one, &one) == 0) {
        prices = hand_over(config, shared);
        sched_setaffinity(0, sizeof all, &all);
    }
    munmap(shared, sizeof(struct rounds));
    return prices;
}
