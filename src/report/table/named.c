/* Values with names in reports (profile/events.h): how often, and what they were. */
#include <inttypes.h>
#include <stdlib.h>

#include "profile/events.h"
#include "report/table/events.h"
#include "report/table/view.h"
#include "report/text.h"
#include "report/values_internal.h"

enum { ROWS = 40, WIDTH = 14, PLACE = 256, INDENT = 6 };

static void write_value(FILE *out, struct value_reader *r, const struct report_style *style,
                        const struct profile_events *t, const struct profile_event *e,
                        uint64_t all)
{
    char number[TEXT_NUMBER_SIZE], line[PLACE], function[PLACE];
    const struct profile_entity *entity = value_entity(r, e->image, e->offset);
    fprintf(out, "%7.2f%%", text_share(e->weight, all));
    if (t->most > 1) {
        struct interval ci = events_interval(t, (double)e->weight, (double)e->squares, (double)all);
        fprintf(out, " [%6.2f, %6.2f]", 100 * ci.low, 100 * ci.high);
    }
    fprintf(out, "  %*s  ", WIDTH, text_count(number, e->weight));
    if (entity) {
        value_entity_function(entity, function, sizeof function);
        value_line(r, e->image, e->offset, line, sizeof line);
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
    value_lines(out, r, e->image, e->offset, INDENT);
}

static bool text(FILE *out, const struct view *v, const void *table,
                 const struct report_style *style, struct err *e)
{
    static const struct symbols_options symbols = {.detail = SYMBOLS_QUICK};
    const struct profile_events *t = table;
    struct value_reader *r = value_reader_new(v, &symbols);
    uint64_t all;
    if (!t->count || !r) {
        value_reader_free(r);
        fputs("no values with names were observed (record --carrier compiled, of a program that "
              "penumbra cc has built with what=values)\n", out);
        return true;
    }
    struct ranked *order = events_order(t, UINT32_MAX, &all);
    uint32_t rows = 0, limit = style->limit && style->limit < ROWS ? style->limit : ROWS;
    if (order) {
        events_header(out, t);
        text_colour(out, style, TEXT_DIM);
        fprintf(out, "%8s%s  %*s  value\n", "share", t->most > 1 ? "   95% interval  " : "", WIDTH,
                "times");
        text_colour(out, style, TEXT_PLAIN);
    }
    for (; order && rows < t->count && rows < limit; rows++) {
        if (text_share(order[rows].value, all) < style->min)
            break;
        write_value(out, r, style, t, &t->list[order[rows].index], all);
    }
    if (order && rows < t->count)
        fprintf(out, "%" PRIu32 " more\n", t->count - rows);
    free(order);
    value_reader_free(r);
    return order || err_set(e, ERR_INTERNAL, "cannot order the values: out of memory");
}

static void json_value(struct json *j, struct value_reader *r, const struct profile_events *t,
                       const struct profile_event *e, uint64_t all)
{
    const struct profile_entity *entity = value_entity(r, e->image, e->offset);
    char function[PLACE];
    if (!entity)
        return;
    value_entity_function(entity, function, sizeof function);
    json_open(j, '{');
    json_key_string(j, "function", function);
    json_key_string(j, "name", value_entity_name(entity));
    json_key_string(j, "file", entity->scope);
    json_key_u64(j, "line", entity->at);
    events_json(j, t, e, (double)all);
    json_key(j, "hotlists");
    value_json_at(j, r, e->image, e->offset);
    json_close(j, '}');
}

/* Members "named_interval", "named_bursts", "named_missed" and "named". */
static void json(struct json *j, const struct view *v, const void *table, uint32_t limit)
{
    static const struct symbols_options symbols = {.detail = SYMBOLS_QUICK};
    static const struct profile_events none;
    const struct profile_events *t = table ? table : &none;
    struct value_reader *r = t->count ? value_reader_new(v, &symbols) : NULL;
    uint64_t all;
    struct ranked *order = events_order(t, UINT32_MAX, &all);
    uint32_t rows = limit && limit < t->count ? limit : t->count;
    j->out->failed |= !order;
    json_key_u64(j, "named_interval", t->most);
    json_key_u64(j, "named_bursts", t->bursts);
    json_key_u64(j, "named_missed", t->missed);
    json_key(j, "named");
    json_open(j, '[');
    for (uint32_t i = 0; order && r && i < rows; i++)
        json_value(j, r, t, &t->list[order[i].index], all);
    json_close(j, ']');
    free(order);
    value_reader_free(r);
}

const struct table_view view_named = {.text = text, .json = json};
