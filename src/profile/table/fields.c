/* Accesses to fields of types: in a profile, in its file. What both tables of compiled-in
 * instrumentation have in common is in profile/events.c. */
#include "profile/events.h"
#include "sigsafe/tools.h"

const struct profile_table table_fields = {
    .read = spool_inst_read,
    .free = events_free,
    .sampled = events_sampled,
    .site = events_site,
    .append = events_append,
    .settle = events_settle,
};

static bool section_needed(const struct profile *p)
{
    return events_needed(p, TABLE_FIELDS);
}

static bool section_check(const struct profile *p, struct err *e)
{
    return events_check(p, TABLE_FIELDS, e);
}

static void section_put(struct buf *b, const struct encoder *x)
{
    events_put(b, x, TABLE_FIELDS);
}

static void section_get(struct decoder *d, struct cursor *c)
{
    events_get(d, c, TABLE_FIELDS);
}

const struct section_kind kind_fields = {
    .type = {44, "fields", 0},
    .within = 24,
    .about = "optional, with 24: accesses to fields of types, by compiled-in instrumentation",
    .needed = section_needed,
    .check = section_check,
    .put = section_put,
    .get = section_get,
};
