/* What the nodes of a profile's trees are weighted by: one metric at least, whose weight is `self`.
 *
 * Context: ordinary code.
 * Ownership: a struct profile owns its metrics; their strings are never NULL. */
#ifndef PENUMBRA_PROFILE_METRICS_H
#define PENUMBRA_PROFILE_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sigsafe/reasons.h"

struct profile;

/* How it was measured. In files by number. */
enum metric_how {
    METRIC_REGULAR,    /* sampled, once a period */
    METRIC_RANDOMIZED, /* sampled, each period drawn from [P/2, 3P/2] */
    METRIC_EXACT,      /* all of it was counted */
    METRIC_HOWS
};

enum { METRICS_MAX = 16 };

struct profile_metric {
    char *name;
    char *trigger;   /* "cpu", "wall", "page-faults", "context-switches", "cycles", ... */
    char *unit;      /* "nanoseconds", "bytes" or "events": what one period is counted in */
    uint64_t period; /* mean period, in `unit`; one weighted sample stands for one period */
    uint32_t how;    /* enum metric_how */
};

/* What a trigger has sampled in a thread. */
struct profile_sampled {
    uint64_t taken, weight, weight_squares, guessed;
    uint64_t truncated[TRUNC_COUNT];
    uint64_t drops[DROP_COUNT];
};

/* Metrics of the trigger malloc, by index from its first: of what was allocated, what is live at
 * the end, and what was when most was. */
enum heap_metric { HEAP_ALLOCATED, HEAP_LIVE, HEAP_PEAK, HEAP_METRICS };

/* Metrics of one trigger stand together: one, or those of the heap. Triggers are counted from 0. */
uint32_t profile_triggers(const struct profile *p);
uint32_t profile_trigger_of(const struct profile *p, uint32_t metric);
/* What a trigger has sampled in all threads. */
struct profile_sampled profile_sampled_by(const struct profile *p, uint32_t trigger);
/* Without those that the program paused: that was asked for. */
uint64_t profile_sampled_dropped(const struct profile_sampled *s);
/* Makes the trigger of this metric the first one, with its metrics; the others stay in their order.
 * All that tells of the first metric only tells of this trigger then. */
bool profile_lead(struct profile *p, uint32_t metric);
/* The same by name; NULL is what leads now. *metric becomes NULL if it is the first metric then. */
bool profile_lead_by(struct profile *p, const char **metric, struct err *e);
/* Zeros for profile_thread.others; NULL without memory. */
struct profile_sampled *profile_sampled_new(const struct profile *p);

/* Adds a copy. False without memory or room. */
bool profile_metric_add(struct profile *p, const struct profile_metric *m);
/* The last metric is of the trigger malloc: gives it its name, and adds the others. */
bool profile_metrics_of_heap(struct profile *p);
/* The index of the metric, by name or, for the first of a trigger, by that; UINT32_MAX: there is
 * none. */
uint32_t profile_metric_find(const struct profile *p, const char *name);

/* Says which metrics there are. Returns false. */
bool profile_metric_missing(const struct profile *p, const char *name, struct err *e);
/* Forgets those that are not kept, of a trigger with all that tells of it. The first
 * one is kept. */
void profile_metrics_keep(struct profile *p, const bool kept[METRICS_MAX]);
/* Forgets all but the first few. */
void profile_metrics_fini(struct profile *p, uint32_t kept);
/* Makes this metric the first of all. Of the others nothing is known then but their weights: for
 * exports. */
void profile_metric_first(struct profile *p, uint32_t metric);
/* The first metric of the trigger malloc; UINT32_MAX: it was not there. */
uint32_t profile_metric_of_heap(const struct profile *p);

/* "regular", "randomized", "exact"; "?" out of range. */
const char *metric_how_name(unsigned how);

#endif
