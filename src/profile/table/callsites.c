/* Calls by call site and callee: in a profile, in its file. */
#include "profile/events.h"
#include "sigsafe/tools.h"

const struct profile_table table_callsites = {
    .free = events_free,
    .sampled = events_sampled,
    .site = events_site,
    .append = events_append,
    .settle = events_settle,
};

static bool section_needed(const struct profile *p)
{
    return events_needed(p, TABLE_CALLSITES);
}

static bool section_check(const struct profile *p, struct err *e)
{
    return events_check(p, TABLE_CALLSITES, e);
}

static void section_put(struct buf *b, const struct encoder *x)
{
    events_put(b, x, TABLE_CALLSITES);
}

static void section_get(struct decoder *d, struct cursor *c)
{
    events_get(d, c, TABLE_CALLSITES);
}

const struct section_kind kind_callsites = {
    .type = {45, "callsites", 0},
    .within = 24,
    .about = "optional, with 24: calls by call site and callee, likewise",
    .needed = section_needed,
    .check = section_check,
    .put = section_put,
    .get = section_get,
};
