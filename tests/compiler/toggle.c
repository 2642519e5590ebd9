/* Arms and disarms the checks of the processes that a spool belongs to.
 *
 * usage: toggle SPOOL TIMES RATE (a second)
 *
 * At the end they are armed. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/err.h"
#include "collector/record_spool.h"
#include "sigsafe/settings.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Those that came too late are made up for: each stands for so long at least. */
enum { LEAST_NS = 100000 };

static void wait_ns(long ns)
{
    const struct timespec pause = {0, ns};
    double ends = now() + (double)ns / 1e9;
    if (ns > LEAST_NS)
        nanosleep(&pause, NULL);
    while (now() < ends)
        continue;
}

int main(int argc, char **argv)
{
    struct record_spool s;
    struct err e = {0};
    bool alive;
    if (argc != 4 || !record_spool_open(&s, argv[1], &alive, &e)) {
        fprintf(stderr, "toggle: %s\n", argc == 4 ? e.message : "SPOOL TIMES RATE");
        return 2;
    }
    struct inst_settings *settings = settings_inst_as(&s.spool);
    uint32_t *page = settings ? spool_at(&s.spool, settings->page, SPOOL_PAGE) : NULL;
    if (!page)
        return 3;
    double rate = atof(argv[3]), begins = now();
    unsigned long most = strtoul(argv[2], NULL, 10);
    for (unsigned long times = 0; times < most; wait_ns(LEAST_NS))
        if ((double)times < (now() - begins) * rate)
            __atomic_store_n(page, times++ & 1, __ATOMIC_RELAXED);
        else
            wait_ns((long)(1e9 / rate));
    __atomic_store_n(page, 1, __ATOMIC_RELAXED);
    record_spool_release(&s, false);
    return 0;
}
