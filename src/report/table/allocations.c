/* Allocations by call site and type in reports (profile/events.h). */
#include <inttypes.h>

#include "profile/events.h"
#include "report/table/events.h"
#include "report/table/view.h"
#include "report/text.h"

enum { WIDTH = 14 };

/* Of one site and type how often, whose event stands before that of the bytes. */
static const struct profile_event *times_of(const struct profile_events *t,
                                            const struct profile_event *bytes)
{
    const struct profile_event *e = bytes;
    while (e > t->list && e->offset == bytes->offset) {
        e--;
        if (e->kind == EVENT_ALLOCATED && e->offset == bytes->offset && e->to == bytes->to)
            return e;
    }
    return bytes;
}

static void write_row(FILE *out, const struct events_shown *s, const struct report_style *style,
                      const struct profile_event *e)
{
    char bytes[TEXT_NUMBER_SIZE], number[TEXT_NUMBER_SIZE];
    const struct profile_entity *what = events_entity(s->view, e->to);
    fprintf(out, "%*s  %*s  ", WIDTH, text_count(bytes, e->weight), WIDTH,
            text_count(number, times_of(s->table, e)->weight));
    events_write_site(out, style, events_entity(s->view, e->offset));
    fputs(what->kind == ENTITY_TYPE ? " -> " : " by ", out);
    text_name(out, what->name, 0);
    if (what->kind == ENTITY_TYPE)
        fprintf(out, " (%" PRIu64 " bytes each)", what->number);
    fputc('\n', out);
}

static void json_row(struct json *j, const struct events_shown *s, const struct profile_event *e)
{
    const struct profile_entity *what = events_entity(s->view, e->to);
    const struct profile_event *times = times_of(s->table, e);
    json_open(j, '{');
    events_json_site(j, events_entity(s->view, e->offset));
    json_key_string(j, "type", what->kind == ENTITY_TYPE ? what->name : "");
    json_key_string(j, "callee", what->kind == ENTITY_TYPE ? "" : what->name);
    json_key_u64(j, "allocations", times->weight);
    json_key_u64(j, "seen", times->samples);
    json_key_u64(j, "bytes", e->weight);
    events_json_share(j, s->table, e, (double)s->all);
    json_close(j, '}');
}

static const struct events_rows rows = {
    .kind = EVENT_BYTES,
    .what = "allocations",
    .none = "record --carrier compiled, of a program that penumbra cc has built with "
            "what=allocations",
    .columns = "         bytes     allocations  call site -> type",
    .prefix = "allocations",
    .member = "allocation_sites",
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

const struct table_view view_allocations = {.text = text, .json = json};
