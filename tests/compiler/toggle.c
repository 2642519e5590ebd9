/* Arms and disarms the checks of the processes that a spool belongs to.
 *
 * usage: toggle SPOOL SECONDS RATE
 *
 * Prints how often it did so. At the end they are armed. */
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

int main(int argc, char **argv)
{
    struct record_spool s;
    struct err e = {0};
    bool alive;
    if (argc != 4 || !record_spool_open(&s, argv[1], &alive, &e)) {
        fprintf(stderr, "toggle: %s\n", argc == 4 ? e.message : "SPOOL SECONDS RATE");
        return 2;
    }
    struct inst_settings *settings = settings_inst_as(&s.spool);
    uint32_t *page = settings ? spool_at(&s.spool, settings->page, SPOOL_PAGE) : NULL;
    if (!page)
        return 3;
    double every = 1 / atof(argv[3]), ends = now() + atof(argv[2]);
    const struct timespec pause = {0, (long)(every * 1e9)};
    unsigned long times = 0;
    for (; now() < ends; times++, nanosleep(&pause, NULL))
        __atomic_store_n(page, times & 1, __ATOMIC_RELAXED);
    __atomic_store_n(page, 1, __ATOMIC_RELAXED);
    printf("%lu\n", times);
    record_spool_release(&s, false);
    return 0;
}
