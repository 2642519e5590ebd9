/* Which way branches go, in reports (profile/events.h). */
#include <inttypes.h>

#include "base/saturate.h"
#include "profile/events.h"
#include "report/table/events.h"
#include "report/table/view.h"
#include "report/text.h"

enum { WIDTH = 14, NAME = 40 };

/* All ways on from the branch: they stand together. */
static uint64_t of_branch(const struct profile_events *t, const struct profile_event *way)
{
    const struct profile_event *first = way, *end = t->list + t->count;
    uint64_t sum = 0;
    while (first > t->list && first[-1].offset == way->offset)
        first--;
    for (; first < end && first->offset == way->offset; first++)
        sum = add_saturated(sum, first->weight);
    return sum;
}

static void write_row(FILE *out, const struct events_shown *s, const struct report_style *style,
                      const struct profile_event *e)
{
    char number[TEXT_NUMBER_SIZE];
    const struct profile_entity *from = events_entity(s->view, e->offset),
                                *to = events_entity(s->view, e->to);
    fprintf(out, "%*s  %6.2f%%  ", WIDTH, text_count(number, e->weight),
            text_share(e->weight, of_branch(s->table, e)));
    text_function(out, style, from->name, NAME);
    fputs(" (", out);
    text_name(out, from->scope, 0);
    fprintf(out, ":%" PRIu64 ") -> ", from->at);
    if (to->at)
        fprintf(out, "line %" PRIu64 "\n", to->at);
    else
        fputs("no line\n", out);
}

static void json_row(struct json *j, const struct events_shown *s, const struct profile_event *e)
{
    const struct profile_entity *from = events_entity(s->view, e->offset),
                                *to = events_entity(s->view, e->to);
    json_open(j, '{');
    json_key_string(j, "function", from->name);
    json_key_string(j, "file", from->scope);
    json_key_u64(j, "line", from->at);
    json_key_u64(j, "to_line", to->at);
    json_key_u64(j, "edge", to->number);
    json_key_double(j, "taken", text_share(e->weight, of_branch(s->table, e)));
    events_json(j, s->table, e, (double)s->all);
    json_close(j, '}');
}

static const struct events_rows rows = {
    .kind = EVENT_EDGE,
    .what = "branches",
    .none = "record --carrier compiled, of a program that penumbra cc has built with "
            "what=edges",
    .columns = "         times    taken  branch -> way on",
    .prefix = "branches",
    .member = "branches",
    .text = write_row,
    .json = json_row,
};

static bool text(FILE *out, const struct view *v, const void *table,
                 const struct report_style *style, struct err *e)
{
    return events_text_rows(out, &rows, v, table, NULL, style, e);
}

static void json(struct json *j, const struct view *v, const void *table, uint32_t limit)
{
    events_json_rows(j, &rows, v, table, NULL, limit);
}

const struct table_view view_branches = {.text = text, .json = json};
