/* How fast the time stamp counter runs, and what one empty signal costs.
 *
 * A loop reads the time stamp counter twice. The gap between two readings during which exactly one
 * signal was handled is the cost of interrupt, signal delivery, empty handler and return; the
 * median of some dozens of them is robust against whatever else the machine does. Programs wait for
 * this: it ends with the last of them, and lasts some milliseconds. In a program the same takes
 * longer; the runtime finds out how much by the part that it can see, the time from a period's end
 * to the handler (trigger/account.c): the loop's is measured here, after each setting of the event,
 * on the same clock.
 *
 * The counter's rate comes from two readings of both clocks, between which the collector has done
 * its other work: for it alone nobody waits. */
#include "collector/record_probe.h"

#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector/measure.h"
#include "collector/perf_event.h"
#include "collector/record_switches.h"
#include "sigsafe/sys.h"

enum { CALIBRATION_NS = 4000000, CALIBRATION_MOST_NS = 200000000, CALIBRATION_PERIOD_NS = 50000,
       CLOCK_NS = 1000000, CLOCK_READINGS = 5, GAPS_LEAST = 16, GAPS_MOST = 64,
       SPINS = 16, LATENCIES = 24 };

static volatile sig_atomic_t delivered;
static volatile uint64_t entered_cpu_ns;
static int clock_event = -1, delivered_most;

/* Where a signal takes longer than the event's period (under strace, say) the loop hardly gets on:
 * it must end all the same. */
static void empty_handler(int number)
{
    (void)number;
    if (++delivered >= delivered_most)
        ioctl(clock_event, PERF_EVENT_IOC_DISABLE, 0);
}

/* At most so many signals are delivered. */
static void clock_begin(int event, int most)
{
    clock_event = event;
    delivered_most = most;
    delivered = 0;
    if (event >= 0)
        ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
}

static void clock_handler(int number)
{
    if (!entered_cpu_ns)
        entered_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    empty_handler(number);
}

struct gaps {
    uint64_t ticks[GAPS_MOST];
    unsigned count;
};

/* Nearly all of the loop's time: a signal that comes between it and a reading is not counted. */
static void spin(void)
{
    for (unsigned i = 0; i < SPINS; i++)
        __builtin_ia32_pause();
}

/* `self`: signals are sent by the loop, for want of an event that does. */
static void collect_gaps(struct gaps *g, int self, uint64_t until_ns)
{
    uint64_t idle = self ? 0 : UINT64_MAX; /* what the loop takes without a signal */
    for (unsigned round = 0; g->count < GAPS_MOST; round++) {
        /* The counter is read inside the clock's readings: a signal that was counted here was
         * handled between them. */
        uint64_t start = sys_ticks_as();
        int before = delivered;
        if (self)
            syscall(SYS_tgkill, getpid(), gettid(), self);
        else
            spin();
        int after = delivered;
        uint64_t end = sys_ticks_as();
        if (after == before && end - start < idle)
            idle = end - start;
        if (after == before + 1 && end - start > idle)
            g->ticks[g->count++] = end - start - idle;
        if ((round & 63) != 0)
            continue;
        uint64_t now = monotonic_ns();
        /* On a busy machine the loop may hardly have run yet. */
        if (now >= until_ns && (g->count >= GAPS_LEAST || now >= until_ns + CALIBRATION_MOST_NS))
            return;
    }
}

static int open_clock(bool exclude_kernel)
{
    const struct perf_event event = {
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .period = CALIBRATION_PERIOD_NS,
        .value = 1,
        .exclude_kernel = exclude_kernel,
    };
    return perf_event_open(&event, 0);
}

/* What one empty signal costs, in ticks; 0: not known. */
static uint64_t delivery_ticks(int event, int number)
{
    struct gaps g = {.count = 0};
    clock_begin(event, 2 * GAPS_MOST);
    collect_gaps(&g, event < 0 ? number : 0, monotonic_ns() + CALIBRATION_NS);
    if (event >= 0)
        ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
    return measure_median(g.ticks, g.count);
}

/* From the end of a period to the handler, in nanoseconds of CPU time; 0: not known. */
static uint64_t latency_ns(int event)
{
    uint64_t period = CALIBRATION_PERIOD_NS, seen[LATENCIES], start = monotonic_ns();
    unsigned count = 0;
    clock_begin(event, 2 * LATENCIES);
    for (unsigned i = 0; i < 2 * LATENCIES && count < LATENCIES; i++) {
        ioctl(event, PERF_EVENT_IOC_PERIOD, &period);
        uint64_t base = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        entered_cpu_ns = 0;
        while (!entered_cpu_ns && delivered < delivered_most &&
               monotonic_ns() - start < CALIBRATION_MOST_NS)
            spin();
        if (entered_cpu_ns > base + period && entered_cpu_ns - base - period < period)
            seen[count++] = entered_cpu_ns - base - period;
    }
    ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
    return measure_median(seen, count);
}

static void handle(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(number, &action, NULL);
}

/* In ticks, but for the latency. */
static struct prices {
    uint64_t delivery, latency_ns, tick;
} prices_measure(const struct spool_config *config)
{
    struct prices p = {0};
    int number = (int)config->signal;
    int event = config->mechanism == MECHANISM_PERF ? open_clock(config->exclude_kernel) : -1;
    handle(number, empty_handler);
    p.tick = delivery_ticks(-1, number);
    p.delivery = event >= 0 ? delivery_ticks(event, number) : p.tick;
    if (event >= 0) {
        handle(number, clock_handler);
        p.latency_ns = latency_ns(event);
        close(event);
    }
    return p;
}

/* The collector's own handling of the signal is put back. */
static struct prices prices_find(const struct spool_config *config)
{
    struct sigaction old_action;
    sigset_t set, old_set;
    int number = (int)config->signal;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigaction(number, NULL, &old_action);
    sigprocmask(SIG_UNBLOCK, &set, &old_set);
    struct prices p = prices_measure(config);
    sigprocmask(SIG_SETMASK, &old_set, NULL);
    sigaction(number, &old_action, NULL);
    return p;
}

/* Of some readings the one that was interrupted least. */
void record_clocks_read(struct record_clocks *c)
{
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < CLOCK_READINGS; i++) {
        uint64_t before = sys_ticks_as(), ns = monotonic_ns(), after = sys_ticks_as();
        if (after - before >= least)
            continue;
        least = after - before;
        *c = (struct record_clocks){.ns = ns, .ticks = before + least / 2};
    }
}

static uint64_t ticks_per_second(const struct record_clocks *began)
{
    struct record_clocks now = {0};
    do
        record_clocks_read(&now);
    while (now.ns - began->ns < CLOCK_NS);
    return (uint64_t)((double)(now.ticks - began->ticks) / (double)(now.ns - began->ns) * 1e9);
}

/* On a busy machine most gaps have other programs in them, but the latency is the loop's own CPU
 * time. Of a delivery it is between a quarter and two thirds on every machine that was seen. */
static uint32_t delivery_bound(uint32_t delivery_ns, uint32_t latency_ns)
{
    uint32_t least = latency_ns + latency_ns / 2, most = 4 * latency_ns;
    if (!latency_ns)
        return delivery_ns;
    return delivery_ns < least ? least : delivery_ns < most ? delivery_ns : most;
}

/* A delivery has the timer programmed anew, too, and more. Where the machine was too busy to tell:
 * between what virtual machines take and what others do. */
static void switches_calibrate(struct spool_config *config)
{
    enum { GUESS_NS = 3000 };
    struct switch_prices s = record_switches(config);
    if (!s.near_ns)
        s = (struct switch_prices){GUESS_NS, GUESS_NS};
    config->switch_ns = s.near_ns < config->delivery_ns ? s.near_ns : config->delivery_ns;
    config->switch_far_ns = s.far_ns < config->switch_ns ? s.far_ns : config->switch_ns;
}

static uint32_t ns_of(uint64_t ticks, uint64_t hz)
{
    return hz ? (uint32_t)((double)ticks * 1e9 / (double)hz) : 0;
}

uint64_t record_calibrate(struct spool_config *config, const struct record_clocks *began)
{
    struct prices p = {0};
    if (carrier_samples(config->carrier))
        p = prices_find(config);
    uint64_t hz = ticks_per_second(began);
    config->latency_ns = (uint32_t)p.latency_ns;
    config->delivery_ns = delivery_bound(ns_of(p.delivery, hz), config->latency_ns);
    config->tick_ns = ns_of(p.tick, hz);
    if (config->trigger == TRIGGER_CPU && config->mechanism == MECHANISM_PERF &&
        carrier_samples(config->carrier))
        switches_calibrate(config);
    return hz;
}
