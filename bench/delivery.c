/* What an interruption costs, step by step: `bench-delivery STEP KILOBYTES [vectors]`.
 *
 *     none       nothing: the work alone
 *     interrupt  an event on the thread's CPU clock whose period expires without a signal
 *     signal     the same event with a synchronous signal, and a handler that returns at once
 *     stack      the same, on an alternate signal stack
 *     tick       a timer on the thread's CPU clock, which the kernel looks at when it ticks
 *
 * The work is a walk over so many kilobytes in an order that prefetchers do not know; with
 * "vectors" the widest vector registers are in use meanwhile. Slices without and with the step
 * alternate. Prints nanoseconds of CPU time for each expiration, the median of pairs of slices, and
 * how many there were; for "none" the CPU time of the work. */
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    PAIRS = 60,
    SLICE_NS = 20000000,
    PERIOD_NS = 250000,
    LINE = 64,
    STACK = 65536,
    NO_STEP = 77
};

static uint32_t *order;
static size_t lines;
static volatile uint64_t expired;

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* One cycle through all lines (Sattolo's). */
static void work_make(size_t kilobytes)
{
    uint64_t random = 1;
    lines = kilobytes ? kilobytes * 1024 / LINE : 1;
    order = aligned_alloc(4096, (lines * LINE + 4095) / 4096 * 4096);
    if (!order)
        exit(1);
    for (size_t i = 0; i < lines; i++)
        order[i * LINE / sizeof *order] = (uint32_t)i;
    for (size_t i = lines - 1; i > 0; i--) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t j = (size_t)(random >> 33) % i;
        uint32_t *a = &order[i * LINE / sizeof *order], *b = &order[j * LINE / sizeof *order],
                 at = *a;
        *a = *b;
        *b = at;
    }
}

static uint32_t work(uint64_t steps)
{
    uint32_t at = 0;
    for (uint64_t i = 0; i < steps; i++)
        at = order[at * (LINE / sizeof *order)];
    return at;
}

static uint64_t work_ns(uint64_t steps)
{
    uint64_t begin = cpu_ns();
    volatile uint32_t sink = work(steps);
    (void)sink;
    return cpu_ns() - begin;
}

static uint64_t steps_of_slice(void)
{
    uint64_t steps = 1000, ns;
    while ((ns = work_ns(steps)) < SLICE_NS / 2)
        steps *= 2;
    return steps * SLICE_NS / ns;
}

static void handler(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    (void)context;
    expired++;
}

/* -1: cannot be had. */
static int event_open(int with_signal)
{
    struct perf_event_attr a = {.size = sizeof a,
                                .type = PERF_TYPE_SOFTWARE,
                                .config = PERF_COUNT_SW_TASK_CLOCK,
                                .sample_period = PERIOD_NS,
                                .disabled = 1,
                                .exclude_hv = 1,
                                .sigtrap = with_signal != 0,
                                .remove_on_exec = with_signal != 0};
    return (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static timer_t timer_open(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGTRAP};
    timer_t timer;
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer))
        exit(NO_STEP);
    return timer;
}

static void handler_install(int alternate)
{
    struct sigaction action = {.sa_sigaction = handler,
                               .sa_flags = SA_SIGINFO | SA_RESTART | (alternate ? SA_ONSTACK : 0)};
    stack_t stack = {.ss_sp = malloc(STACK), .ss_size = STACK};
    if (alternate)
        sigaltstack(&stack, NULL);
    sigaction(SIGTRAP, &action, NULL);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void step_set(int event, timer_t *timer, int on)
{
    struct itimerspec every = {{0, on ? PERIOD_NS : 0}, {0, on ? PERIOD_NS : 0}};
    if (timer)
        timer_settime(*timer, 0, &every, NULL);
    else
        ioctl(event, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

static void measure(const char *step)
{
    int tick = !strcmp(step, "tick"), silent = !strcmp(step, "interrupt");
    timer_t timer = NULL;
    int event = -1;
    double cost[PAIRS];
    uint64_t all = 0, steps = steps_of_slice();
    handler_install(!strcmp(step, "stack"));
    if (tick)
        timer = timer_open();
    else if ((event = event_open(!silent)) < 0)
        exit(NO_STEP);
    for (int i = 0; i < PAIRS; i++) {
        uint64_t without = work_ns(steps);
        expired = 0;
        step_set(event, tick ? &timer : NULL, 1);
        uint64_t with = work_ns(steps);
        step_set(event, tick ? &timer : NULL, 0);
        uint64_t n = silent ? with / PERIOD_NS : expired;
        cost[i] = n ? ((double)with - (double)without) / (double)n : 0;
        all += n;
    }
    qsort(cost, PAIRS, sizeof *cost, compare);
    printf("%.0f %.0f %.0f %llu\n", cost[PAIRS / 2], cost[PAIRS / 4], cost[PAIRS * 3 / 4],
           (unsigned long long)all);
}

/* Not stored again by anything here: they stay in use. */
static void vectors_use(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        __asm__ volatile("vpternlogd $255, %%zmm31, %%zmm31, %%zmm31" ::: "memory");
    else if (__builtin_cpu_supports("avx"))
        __asm__ volatile("vcmpps $15, %%ymm15, %%ymm15, %%ymm15" ::: "memory");
#endif
}

int main(int argc, char **argv)
{
    const char *step = argc > 1 ? argv[1] : "signal";
    work_make(argc > 2 ? strtoul(argv[2], NULL, 10) : 0);
    if (argc > 3 && *argv[3])
        vectors_use();
    if (strcmp(step, "none") != 0) {
        measure(step);
        return 0;
    }
    uint64_t rounds = argc > 4 ? strtoull(argv[4], NULL, 10) : PAIRS,
             steps = argc > 5 ? strtoull(argv[5], NULL, 10) : steps_of_slice();
    uint64_t ns = work_ns(rounds * steps);
    printf("%llu %llu\n", (unsigned long long)ns, (unsigned long long)steps);
    return 0;
}
