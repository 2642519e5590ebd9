/* What one walk costs: a stack of real frames (qsort's comparison, called from recursion), walked
 * in a signal handler, as a sample would be. Prints the median of many walks, in nanoseconds.
 *
 *     bench-unwind [frames]        default 30
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "self_index.h"
#include "sigsafe/sys.h"

enum { WALKS = 1001, FRAMES_MAX = 512, STACK_BYTES = 256 << 10, EVICTING = 32 << 20, LINE = 64 };

enum temperature {
    WARM,
    FORGOTTEN, /* the unwinder's own cache of return addresses is empty */
    EVICTED,   /* the processor's caches hold other things, as after the program has run for long */
};

static volatile uint8_t other_things[EVICTING];

static struct self_index with_tables, interpreted;
static struct unwind_thread thread;
static double ns_per_tick;

static double measure_ticks(void)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    uint64_t ticks = sys_ticks_as();
    do
        clock_gettime(CLOCK_MONOTONIC, &b);
    while ((b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec < 50000000L);
    ticks = sys_ticks_as() - ticks;
    return (double)((b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec) / (double)ticks;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void measure(const char *name, const struct unwind_index *index, enum temperature how,
                    const struct unwind_regs *regs)
{
    static uint64_t ticks[WALKS];
    static struct unwind_frame frames[FRAMES_MAX];
    struct unwind_result r = unwind_walk_as(&thread, index, regs, frames, FRAMES_MAX);
    for (int i = 0; i < WALKS; i++) {
        if (how == FORGOTTEN)
            memset(thread.cache, 0, sizeof thread.cache);
        for (int k = 0; how == EVICTED && k < EVICTING; k += LINE)
            other_things[k]++;
        uint64_t begin = sys_ticks_as();
        r = unwind_walk_as(&thread, index, regs, frames, FRAMES_MAX);
        ticks[i] = sys_ticks_as() - begin;
    }
    qsort(ticks, WALKS, sizeof ticks[0], by_value);
    double ns = (double)ticks[WALKS / 2] * ns_per_tick;
    printf("%-44s %4u frames %9.0f ns a walk %8.1f ns a frame%s\n", name, r.frames, ns,
           ns / r.frames, r.truncation == TRUNC_NONE ? "" : "  TRUNCATED");
}

static void handler(int signal_number, siginfo_t *info, void *ucontext)
{
    struct unwind_regs regs = self_regs(ucontext);
    (void)signal_number;
    (void)info;
    thread.stack_lo = regs.r[UNWIND_RSP] - STACK_BYTES;
    thread.stack_hi = (uint64_t)environ; /* the main thread's frames are all below that */
    measure("tables, addresses seen before", with_tables.index, WARM, &regs);
    measure("tables, no address seen before", with_tables.index, FORGOTTEN, &regs);
    measure("interpreter, addresses seen before", interpreted.index, WARM, &regs);
    measure("interpreter, no address seen before", interpreted.index, FORGOTTEN, &regs);
    measure("tables, seen before, processor's caches cold", with_tables.index, EVICTED, &regs);
    measure("interpreter, the same", interpreted.index, EVICTED, &regs);
    thread.stack_lo = thread.stack_hi = 0;
    measure("tables, seen before, stack bounds unknown", with_tables.index, WARM, &regs);
}

static int depth_wanted = 30;

static int compare(const void *a, const void *b);

__attribute__((noinline)) static int recurse(int depth)
{
    int pair[2] = {2, 1};
    if (depth <= 0) {
        raise(SIGTRAP);
        return pair[0];
    }
    if (depth % 8 == 0) {
        pair[0] = depth - 4; /* the comparison goes on from here */
        pair[1] = pair[0];
        qsort(pair, 2, sizeof pair[0], compare);
        return pair[0];
    }
    return recurse(depth - 1) + pair[depth & 1];
}

static int compare(const void *a, const void *b)
{
    const int *x = a, *y = b;
    return recurse(*x - 1) - *y;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    if (argc > 1)
        depth_wanted = atoi(argv[1]);
    if (depth_wanted < 1 || depth_wanted > 400) {
        fprintf(stderr, "bench-unwind: the number of frames is 1 to 400\n");
        return 2;
    }
    with_tables = self_index_build(true);
    interpreted = self_index_build(false);
    ns_per_tick = measure_ticks();
    sigaction(SIGTRAP, &action, NULL);
    recurse(depth_wanted - 6); /* raise, main and what is below it are the rest */
    self_index_free(&with_tables);
    self_index_free(&interpreted);
    return 0;
}
