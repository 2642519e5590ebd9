/* What the nodes of a profile's trees are weighted by: one metric at least, whose weight is `self`.
 *
 * Context: ordinary code.
 * Ownership: a struct profile owns its metrics; their strings are never NULL. */
#ifndef PENUMBRA_PROFILE_METRICS_H
#define PENUMBRA_PROFILE_METRICS_H

#include <stdbool.h>
#include <stdint.h>

struct profile;

/* How it was measured. In files by number. */
enum metric_how {
    METRIC_REGULAR,    /* sampled, once a period */
    METRIC_RANDOMIZED, /* sampled, each period drawn from [P/2, 3P/2] */
    METRIC_EXACT,      /* all of it was counted */
    METRIC_HOWS
};

enum { METRICS_MAX = 4 };

struct profile_metric {
    char *name;
    char *trigger;   /* "cpu", "wall", "page-faults", "context-switches", "cycles", ... */
    char *unit;      /* "nanoseconds", "bytes" or "events": what one period is counted in */
    uint64_t period; /* mean period, in `unit`; one weighted sample stands for one period */
    uint32_t how;    /* enum metric_how */
};

/* Metrics of the trigger malloc, by index: of what was allocated, what is live at the end, and what
 * was when most was. */
enum heap_metric { HEAP_ALLOCATED, HEAP_LIVE, HEAP_PEAK, HEAP_METRICS };

/* Adds a copy. False without memory or room. */
bool profile_metric_add(struct profile *p, const struct profile_metric *m);
/* The first metric is of the trigger malloc: gives it its name, and adds the others. */
bool profile_metrics_of_heap(struct profile *p);
/* The index of the metric, by name or, for the first, by its trigger; UINT32_MAX: there is none. */
uint32_t profile_metric_find(const struct profile *p, const char *name);

/* "regular", "randomized", "exact"; "?" out of range. */
const char *metric_how_name(unsigned how);

#endif
