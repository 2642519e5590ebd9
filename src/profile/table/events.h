/* A table of events (profile/events.h): its row in profile_tables, and its section, which has the
 * same columns as those of the others.
 *
 * Context: ordinary code. */
#ifndef PENUMBRA_PROFILE_TABLE_EVENTS_H
#define PENUMBRA_PROFILE_TABLE_EVENTS_H

#include "profile/events.h"
#include "sigsafe/tools.h"

/* reader: of the spool, or NULL. */
#define EVENTS_TABLE(id, NAME, number, sentence, reader)                                           \
    const struct profile_table table_##NAME = {                                                    \
        .read = reader,                                                                            \
        .free = events_free,                                                                       \
        .sampled = events_sampled,                                                                 \
        .site = events_site,                                                                       \
        .append = events_append,                                                                   \
        .settle = events_settle,                                                                   \
    };                                                                                             \
    static bool section_needed(const struct profile *p)                                            \
    {                                                                                              \
        return events_needed(p, TABLE_##id);                                                       \
    }                                                                                              \
    static bool section_check(const struct profile *p, struct err *e)                              \
    {                                                                                              \
        return events_check(p, TABLE_##id, e);                                                     \
    }                                                                                              \
    static void section_put(struct buf *b, const struct encoder *x)                                \
    {                                                                                              \
        events_put(b, x, TABLE_##id);                                                              \
    }                                                                                              \
    static void section_get(struct decoder *d, struct cursor *c)                                   \
    {                                                                                              \
        events_get(d, c, TABLE_##id);                                                              \
    }                                                                                              \
    const struct section_kind kind_##NAME = {                                                      \
        .type = {number, #NAME, 0},                                                                \
        .within = 24,                                                                              \
        .about = sentence,                                                                         \
        .needed = section_needed,                                                                  \
        .check = section_check,                                                                    \
        .put = section_put,                                                                        \
        .get = section_get,                                                                        \
    }

#endif
