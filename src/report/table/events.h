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
#include "report/table/view.h"

/* The 95% interval of a share: `part` of `whole`, whose squares are given. Exact counts have none:
 * both ends are the share. */
struct interval events_interval(const struct profile_events *t, double part, double squares,
                                double whole);
/* How it was estimated, and what is missing: one line or two. */
void events_header(FILE *out, const struct profile_events *t);
/* Those of one kind (UINT32_MAX: of all), by weight, greatest first: to free(). *all: the sum of
 * their weights. NULL without memory. */
struct ranked *events_order(const struct profile_events *t, uint32_t kind, uint64_t *all);
/* A call site, and its members "caller", "file", "line", "site". */
void events_write_site(FILE *out, const struct report_style *style,
                       const struct profile_entity *site);
void events_json_site(struct json *j, const struct profile_entity *site);
/* Members "share", "share_low", "share_high", and "count" and "seen" before them. */
void events_json_share(struct json *j, const struct profile_events *t,
                       const struct profile_event *e, double all);
void events_json(struct json *j, const struct profile_events *t, const struct profile_event *e,
                 double all);

/* A site, a branch, a type; one without a name where a hostile file has none. */
const struct profile_entity *events_entity(const struct view *v, uint64_t id);

struct value_reader;

/* What the rows of a table are shown with. */
struct events_shown {
    const struct view *view;
    const struct profile_events *table;
    struct value_reader *values; /* NULL but for named values */
    uint64_t all;                /* the sum of the weights that shares are of */
};

/* A table whose rows are events of one kind (UINT32_MAX: of all). */
struct events_rows {
    uint32_t kind;
    const char *what;    /* in messages, and in the line that says that there are none */
    const char *none;    /* ... and how they would come */
    const char *columns; /* their heads, after that of the share */
    const char *prefix;  /* JSON: members "PREFIX_interval", "PREFIX_bursts", "PREFIX_missed" ... */
    const char *member;  /* ... and the array of rows */
    /* After the share; ends the line. */
    void (*text)(FILE *out, const struct events_shown *s, const struct report_style *style,
                 const struct profile_event *e);
    /* One object. */
    void (*json)(struct json *j, const struct events_shown *s, const struct profile_event *e);
};

/* As view.h has them; `values` may be NULL. */
bool events_text_rows(FILE *out, const struct events_rows *rows, const struct view *v,
                      const void *table, struct value_reader *values,
                      const struct report_style *style, struct err *e);
void events_json_rows(struct json *j, const struct events_rows *rows, const struct view *v,
                      const void *table, struct value_reader *values, uint32_t limit);

#endif
