/* Calls by call site and callee in reports (profile/events.h). */
#include <inttypes.h>

#include "profile/events.h"
#include "report/table/events.h"
#include "report/table/view.h"
#include "report/text.h"

enum { WIDTH = 14, CALLER = 40 };

/* What is called: an entity by its own name, code by its function's. */
static const char *callee_name(const struct view *v, const struct profile_event *e)
{
    const struct profile_entity *entity =
        entity_is(e->to) ? profile_entity_find(v->profile, e->to) : NULL;
    if (entity && e->to_image == PROFILE_IMAGE_NONE)
        return entity->name;
    struct symbol_location where =
        symbols_find(v->symbols, &v->profile->processes[e->process], e->to_image, e->to);
    return where.frames[where.count - 1].function;
}

static void write_call(FILE *out, const struct events_shown *s, const struct report_style *style,
                       const struct profile_event *e)
{
    char number[TEXT_NUMBER_SIZE];
    fprintf(out, "%*s  ", WIDTH, text_count(number, e->weight));
    events_write_site(out, style, events_entity(s->view, e->offset));
    fputs(" -> ", out);
    text_function(out, style, callee_name(s->view, e), CALLER);
    fputs(e->kind == EVENT_INLINED ? " (inlined)\n" : "\n", out);
}

static void json_call(struct json *j, const struct events_shown *s, const struct profile_event *e)
{
    json_open(j, '{');
    events_json_site(j, events_entity(s->view, e->offset));
    json_key_string(j, "callee", callee_name(s->view, e));
    json_key(j, "inlined");
    json_bool(j, e->kind == EVENT_INLINED);
    json_key(j, "indirect");
    json_bool(j, !entity_is(e->to));
    events_json(j, s->table, e, (double)s->all);
    json_close(j, '}');
}

static const struct events_rows rows = {
    .kind = UINT32_MAX,
    .what = "calls",
    .none = "record --carrier compiled, of a program that penumbra cc has built",
    .columns = "         calls  call site -> callee",
    .prefix = "call_sites",
    .member = "call_sites",
    .text = write_call,
    .json = json_call,
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

const struct table_view view_callsites = {.text = text, .json = json};
