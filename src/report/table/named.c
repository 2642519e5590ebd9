/* Values with names in reports (profile/events.h): how often, and what they were. */
#include "profile/events.h"
#include "report/table/events.h"
#include "report/table/view.h"
#include "report/text.h"
#include "report/values_internal.h"

enum { WIDTH = 14, PLACE = 256, INDENT = 6 };

static void write_value(FILE *out, const struct events_shown *s, const struct report_style *style,
                        const struct profile_event *e)
{
    char number[TEXT_NUMBER_SIZE], line[PLACE], function[PLACE];
    const struct profile_entity *entity = value_entity(s->values, e->image, e->offset);
    fprintf(out, "%*s  ", WIDTH, text_count(number, e->weight));
    if (entity) {
        value_entity_function(entity, function, sizeof function);
        value_line(s->values, e->image, e->offset, line, sizeof line);
        text_colour(out, style, TEXT_BOLD);
        text_name(out, value_entity_name(entity), 0);
        text_colour(out, style, TEXT_PLAIN);
        fputs(*value_entity_name(entity) ? " in " : "in ", out);
        text_function(out, style, function, 0);
        fputs(" (", out);
        text_name(out, line, 0);
        fputs(")", out);
    }
    fputc('\n', out);
    value_lines(out, s->values, e->image, e->offset, INDENT);
}

static void json_value(struct json *j, const struct events_shown *s, const struct profile_event *e)
{
    const struct profile_entity *entity = value_entity(s->values, e->image, e->offset);
    char function[PLACE];
    if (!entity)
        return;
    value_entity_function(entity, function, sizeof function);
    json_open(j, '{');
    json_key_string(j, "function", function);
    json_key_string(j, "name", value_entity_name(entity));
    json_key_string(j, "file", entity->scope);
    json_key_u64(j, "line", entity->at);
    events_json(j, s->table, e, (double)s->all);
    json_key(j, "hotlists");
    value_json_at(j, s->values, e->image, e->offset);
    json_close(j, '}');
}

static const struct events_rows rows = {
    .kind = UINT32_MAX,
    .what = "values with names",
    .none = "record --carrier compiled, of a program that penumbra cc has built with what=values",
    .columns = "         times  value",
    .prefix = "named",
    .member = "named",
    .text = write_value,
    .json = json_value,
};
static const struct profile_events no_values;
static const struct symbols_options symbols = {.detail = SYMBOLS_QUICK};

/* The hotlists are another table of the profile: without it, there are no values. */
static bool text(FILE *out, const struct view *v, const void *table,
                 const struct report_style *style, struct err *e)
{
    struct value_reader *r = value_reader_new(v, &symbols);
    bool ok = events_text_rows(out, &rows, v, r ? table : &no_values, r, style, e);
    value_reader_free(r);
    return ok;
}

static void json(struct json *j, const struct view *v, const void *table, uint32_t limit)
{
    struct value_reader *r = table ? value_reader_new(v, &symbols) : NULL;
    events_json_rows(j, &rows, v, r ? table : NULL, r, limit);
    value_reader_free(r);
}

const struct table_view view_named = {.text = text, .json = json};
