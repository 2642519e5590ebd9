/* The events that `penumbra record -e` knows.
 *
 * Context: any thread.
 * Ownership: constant tables. */
#ifndef PENUMBRA_COLLECTOR_EVENTS_H
#define PENUMBRA_COLLECTOR_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sigsafe/settings.h"

struct event {
    const char *name;
    enum trigger_kind trigger;
    uint32_t perf_type;
    uint64_t perf_config;
    uint64_t period; /* default; 0: from the rate (-F), in nanoseconds */
    const char *summary;
};

/* name: as typed, or "NAME=PERIOD": then *period is what follows, else NULL. */
const struct event *events_find(const char *name, const char **period, struct err *e);
/* The family of interposed functions that the event needs (runtime/trigger/sync.h); NULL: none. */
const char *event_family(const struct event *event);
/* By row, from 0; NULL after the last. */
const struct event *events_row(unsigned row);
/* The event that a trigger of a spool's configuration was made from, or NULL. */
const struct event *events_of_trigger(struct spool_trigger trigger);

static inline bool event_is_synchronous(const struct event *event)
{
    return trigger_is_synchronous(event->trigger);
}

/* Whether its rate may be given in hertz. */
static inline bool event_is_time(const struct event *event)
{
    return event->trigger == TRIGGER_CPU || event->trigger == TRIGGER_WALL;
}

#endif
