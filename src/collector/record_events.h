/* The events of `penumbra record`: what -e, -c and -F say together.
 *
 * Context: the main thread.
 * Ownership: strings point into argv. */
#ifndef PENUMBRA_COLLECTOR_RECORD_EVENTS_H
#define PENUMBRA_COLLECTOR_RECORD_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "collector/events.h"
#include "sigsafe/spool.h"

struct record_event {
    const struct event *event;
    char period_text[32]; /* what follows the = of -e EVENT=PERIOD; "": nothing does */
    uint64_t period;      /* in the event's unit; 0 until it has been settled */
};

struct record_events {
    /* in the order of events_row; "cpu" if none was given */
    struct record_event list[TRIGGERS_MAX];
    unsigned count;
    uint64_t frequency;      /* hertz; for the event that is time */
    bool given, frequency_given;
    const char *period_text; /* -c as typed: its unit depends on the event */
};

/* -e EVENT[=PERIOD][,EVENT...]: adds to those that there are. */
bool record_events_add(struct record_events *r, const char *typed, struct err *e);
/* Settles all periods, and refuses what does not go together. `frequency`: the rate if none was
 * given. */
bool record_events_settle(struct record_events *r, uint64_t frequency, struct err *e);
/* What samples of the event with this index may cost of a thread's CPU time, in parts per million;
 * 0: anything. budget_ppm: of all together, shared equally; 0: none was asked for, and each has the
 * bound that it has alone. */
uint32_t record_events_bound_ppm(const struct record_events *r, unsigned index, uint32_t budget_ppm,
                                 enum carrier_kind carrier);
/* The first event. */
const struct event *record_events_first(const struct record_events *r);
/* The family of interposed functions that they need (runtime/trigger/sync.h); NULL: none. */
const char *record_events_family(const struct record_events *r);
/* The name of the first that needs one; NULL: none does. */
const char *record_events_calls(const struct record_events *r);

#endif
