/* Watches the whole machine for as long as it runs, and hands out what was sampled, interval by
 * interval (docs/daemon.md).
 *
 *      watch_begin ─> watch_serve, twice a second ─┬─> ...
 *                                                  └─> watch_take: the profile of what came since
 *                                                      the last, of processes that have their
 *                                                      service as command
 *
 * Sampling does not stop while a profile is made and names are read: samples go into another spool
 * by then. Spools have no names, so that nothing stays behind.
 *
 * Context: the main thread; the machine's own threads are hidden here.
 * Ownership: watch_free ends it. */
#ifndef PENUMBRA_COLLECTOR_WATCH_WATCH_H
#define PENUMBRA_COLLECTOR_WATCH_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/profile.h"

struct watch;

struct watch_interval {
    int64_t begin_ns, end_ns; /* CLOCK_REALTIME as of its begin, and so much time later */
    uint64_t period_ns, lost;
    uint32_t cpus;
};

/* Gives up privileges once events are open, and before anything is read. folder: where spools are
 * if there is no room in memory. NULL: *e. */
struct watch *watch_begin(uint64_t period_ns, const char *folder, struct err *e);
/* What is due: keeps storage ahead of the walker. */
void watch_serve(void *watch);
/* Nothing is sampled any more; what was is in the interval that the next watch_take hands out. */
void watch_stop(struct watch *w);
/* NULL: *e; then the interval goes on, or what was lost is said. */
struct profile *watch_take(struct watch *w, struct watch_interval *interval, struct err *e);
/* Reads names from symbol tables; they are in wanted->names then. Images are p's. */
void watch_name(struct watch *w, struct profile *wanted);
void watch_pace(struct watch *w, uint64_t period_ns);
/* CPU time of this process and of its children so far. */
uint64_t watch_cost_ns(void);
void watch_free(struct watch *w);

#endif
