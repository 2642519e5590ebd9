/* Which way branches go, in reports (profile/events.h). */
#include <inttypes.h>
#include <stdlib.h>

#include "base/saturate.h"
#include "profile/events.h"
#include "report/table/events.h"
#include "report/table/view.h"
#include "report/text.h"

enum { ROWS = 40, WIDTH = 14, NAME = 40 };

static const struct profile_entity *entity_of(const struct view *v, uint64_t id)
{
    static char name[] = "?", scope[] = "";
    static const struct profile_entity unknown = {.name = name, .scope = scope};
    const struct profile_entity *entity = profile_entity_find(v->profile, id);
    return entity ? entity : &unknown;
}

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

static void write_row(FILE *out, const struct view *v, const struct report_style *style,
                      const struct profile_events *t, const struct profile_event *e, uint64_t all)
{
    char number[TEXT_NUMBER_SIZE];
    const struct profile_entity *from = entity_of(v, e->offset), *to = entity_of(v, e->to);
    fprintf(out, "%7.2f%%", text_share(e->weight, all));
    if (t->most > 1) {
        struct interval ci = events_interval(t, (double)e->weight, (double)e->squares, (double)all);
        fprintf(out, " [%6.2f, %6.2f]", 100 * ci.low, 100 * ci.high);
    }
    fprintf(out, "  %*s  %6.2f%%  ", WIDTH, text_count(number, e->weight),
            text_share(e->weight, of_branch(t, e)));
    text_function(out, style, from->name, NAME);
    fputs(" (", out);
    text_name(out, from->scope, 0);
    fprintf(out, ":%" PRIu64 ") -> ", from->at);
    if (to->at)
        fprintf(out, "line %" PRIu64 "\n", to->at);
    else
        fputs("no line\n", out);
}

static bool text(FILE *out, const struct view *v, const void *table,
                 const struct report_style *style, struct err *e)
{
    const struct profile_events *t = table;
    uint64_t all;
    struct ranked *order = events_order(t, EVENT_EDGE, &all);
    if (!order)
        return err_set(e, ERR_INTERNAL, "cannot order the branches: out of memory");
    events_header(out, t);
    text_colour(out, style, TEXT_DIM);
    fprintf(out, "%8s%s  %*s  %7s  branch -> way on\n", "share",
            t->most > 1 ? "   95% interval  " : "", WIDTH, "times", "taken");
    text_colour(out, style, TEXT_PLAIN);
    uint32_t rows = 0, limit = style->limit && style->limit < ROWS ? style->limit : ROWS;
    for (; rows < t->count && rows < limit; rows++) {
        if (text_share(order[rows].value, all) < style->min)
            break;
        write_row(out, v, style, t, &t->list[order[rows].index], all);
    }
    if (rows < t->count)
        fprintf(out, "%" PRIu32 " more\n", t->count - rows);
    free(order);
    return true;
}

static void json_row(struct json *j, const struct view *v, const struct profile_events *t,
                     const struct profile_event *e, uint64_t all)
{
    const struct profile_entity *from = entity_of(v, e->offset), *to = entity_of(v, e->to);
    json_open(j, '{');
    json_key_string(j, "function", from->name);
    json_key_string(j, "file", from->scope);
    json_key_u64(j, "line", from->at);
    json_key_u64(j, "to_line", to->at);
    json_key_u64(j, "edge", to->number);
    json_key_double(j, "taken", text_share(e->weight, of_branch(t, e)));
    events_json(j, t, e, (double)all);
    json_close(j, '}');
}

/* Members "branches_interval", "branches_bursts", "branches_missed" and "branches". */
static void json(struct json *j, const struct view *v, const void *table, uint32_t limit)
{
    static const struct profile_events none;
    const struct profile_events *t = table ? table : &none;
    uint64_t all;
    struct ranked *order = events_order(t, EVENT_EDGE, &all);
    uint32_t rows = limit && limit < t->count ? limit : t->count;
    j->out->failed |= !order;
    json_key_u64(j, "branches_interval", t->most);
    json_key_u64(j, "branches_bursts", t->bursts);
    json_key_u64(j, "branches_missed", t->missed);
    json_key(j, "branches");
    json_open(j, '[');
    for (uint32_t i = 0; order && i < rows; i++)
        json_row(j, v, t, &t->list[order[i].index], all);
    json_close(j, ']');
    free(order);
}

const struct table_view view_branches = {.text = text, .json = json};
