/* The events that `penumbra record -e` knows.
 *
 * Context: any thread.
 * Ownership: constant tables. */
#ifndef PENUMBRA_CLI_EVENTS_H
#define PENUMBRA_CLI_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sigsafe/spool.h"

struct event {
    const char *name;
    enum trigger_kind trigger;
    uint32_t perf_type;
    uint64_t perf_config;
    uint64_t period; /* default; 0: from the rate (-F), in nanoseconds */
    const char *summary;
};

const struct event *events_find(const char *name, struct err *e);
/* By row, from 0; NULL after the last. */
const struct event *events_row(unsigned row);
/* The event that a spool's configuration was made from, or NULL. */
const struct event *events_of_config(const struct spool_config *config);

static inline bool event_is_time(const struct event *event)
{
    return event->trigger == TRIGGER_CPU || event->trigger == TRIGGER_WALL;
}

#endif
