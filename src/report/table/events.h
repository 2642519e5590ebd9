/* What the views of the tables of compiled-in instrumentation say alike (profile/events.h).
 *
 * Context: ordinary code. */
#ifndef PENUMBRA_REPORT_TABLE_EVENTS_H
#define PENUMBRA_REPORT_TABLE_EVENTS_H

#include <stdio.h>

#include "profile/events.h"
#include "report/ci.h"
#include "report/json.h"
#include "report/ranked.h"

/* The 95% interval of a share: `part` of `whole`, whose squares are given. Exact counts have none:
 * both ends are the share. */
struct interval events_interval(const struct profile_events *t, double part, double squares,
                                double whole);
/* How it was estimated, and what is missing: one line or two. */
void events_header(FILE *out, const struct profile_events *t);
/* Those of one kind (UINT32_MAX: of all), by weight, greatest first: to free(). *all: the sum of
 * their weights. NULL without memory. */
struct ranked *events_order(const struct profile_events *t, uint32_t kind, uint64_t *all);
/* How many are of that kind. */
uint32_t events_count(const struct profile_events *t, uint32_t kind);
/* Members "count", "seen", "share", "share_low", "share_high". */
void events_json(struct json *j, const struct profile_events *t, const struct profile_event *e,
                 double all);

#endif
