/* Allocations by call site and type in reports (profile/events.h). */
#include <inttypes.h>
#include <stdlib.h>

#include "profile/events.h"
#include "report/table/events.h"
#include "report/table/view.h"
#include "report/text.h"

enum { ROWS = 40, WIDTH = 14, CALLER = 40 };

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

static const struct profile_entity *entity_of(const struct view *v, uint64_t id)
{
    static char name[] = "?", scope[] = "";
    static const struct profile_entity unknown = {.name = name, .scope = scope};
    const struct profile_entity *entity = profile_entity_find(v->profile, id);
    return entity ? entity : &unknown;
}

static void write_row(FILE *out, const struct view *v, const struct report_style *style,
                      const struct profile_events *t, const struct profile_event *e, uint64_t all)
{
    char bytes[TEXT_NUMBER_SIZE], number[TEXT_NUMBER_SIZE];
    const struct profile_entity *site = entity_of(v, e->offset), *what = entity_of(v, e->to);
    const struct profile_event *times = times_of(t, e);
    fprintf(out, "%7.2f%%", text_share(e->weight, all));
    if (t->most > 1) {
        struct interval ci = events_interval(t, (double)e->weight, (double)e->squares, (double)all);
        fprintf(out, " [%6.2f, %6.2f]", 100 * ci.low, 100 * ci.high);
    }
    fprintf(out, "  %*s  %*s  ", WIDTH, text_count(bytes, e->weight), WIDTH,
            text_count(number, times->weight));
    text_function(out, style, site->name, CALLER);
    fputs(" (", out);
    text_name(out, site->scope, 0);
    fprintf(out, ":%" PRIu64, site->at);
    if (site->number)
        fprintf(out, ", number %" PRIu64, site->number + 1);
    fputs(what->kind == ENTITY_TYPE ? ") -> " : ") by ", out);
    text_name(out, what->name, 0);
    if (what->kind == ENTITY_TYPE)
        fprintf(out, " (%" PRIu64 " bytes each)", what->number);
    fputc('\n', out);
}

static bool text(FILE *out, const struct view *v, const void *table,
                 const struct report_style *style, struct err *e)
{
    const struct profile_events *t = table;
    uint64_t all;
    if (!t->count) {
        fputs("no allocations were observed (record --carrier compiled, of a program that "
              "penumbra cc has built with what=allocations)\n", out);
        return true;
    }
    struct ranked *order = events_order(t, EVENT_BYTES, &all);
    if (!order)
        return err_set(e, ERR_INTERNAL, "cannot order the allocations: out of memory");
    events_header(out, t);
    text_colour(out, style, TEXT_DIM);
    fprintf(out, "%8s%s  %*s  %*s  call site -> type\n", "share",
            t->most > 1 ? "   95% interval  " : "", WIDTH, "bytes", WIDTH, "allocations");
    text_colour(out, style, TEXT_PLAIN);
    uint32_t rows = 0, limit = style->limit && style->limit < ROWS ? style->limit : ROWS;
    uint32_t count = events_count(t, EVENT_BYTES);
    for (; rows < count && rows < limit; rows++) {
        if (text_share(order[rows].value, all) < style->min)
            break;
        write_row(out, v, style, t, &t->list[order[rows].index], all);
    }
    if (rows < count)
        fprintf(out, "%" PRIu32 " more\n", count - rows);
    free(order);
    return true;
}

static void json_row(struct json *j, const struct view *v, const struct profile_events *t,
                     const struct profile_event *e, uint64_t all)
{
    const struct profile_entity *site = entity_of(v, e->offset), *what = entity_of(v, e->to);
    const struct profile_event *times = times_of(t, e);
    json_open(j, '{');
    json_key_string(j, "caller", site->name);
    json_key_string(j, "file", site->scope);
    json_key_u64(j, "line", site->at);
    json_key_u64(j, "site", site->number);
    json_key_string(j, "type", what->kind == ENTITY_TYPE ? what->name : "");
    json_key_string(j, "callee", what->kind == ENTITY_TYPE ? "" : what->name);
    json_key_u64(j, "allocations", times->weight);
    json_key_u64(j, "seen", times->samples);
    json_key_u64(j, "bytes", e->weight);
    struct interval ci = events_interval(t, (double)e->weight, (double)e->squares, (double)all);
    json_key_double(j, "share", text_share(e->weight, all));
    json_key_double(j, "share_low", 100 * ci.low);
    json_key_double(j, "share_high", 100 * ci.high);
    json_close(j, '}');
}

/* Members "allocations_interval", "allocations_bursts", "allocations_missed" and
 * "allocation_sites". */
static void json(struct json *j, const struct view *v, const void *table, uint32_t limit)
{
    static const struct profile_events none;
    const struct profile_events *t = table ? table : &none;
    uint64_t all;
    struct ranked *order = events_order(t, EVENT_BYTES, &all);
    uint32_t count = events_count(t, EVENT_BYTES), rows = limit && limit < count ? limit : count;
    j->out->failed |= !order;
    json_key_u64(j, "allocations_interval", t->most);
    json_key_u64(j, "allocations_bursts", t->bursts);
    json_key_u64(j, "allocations_missed", t->missed);
    json_key(j, "allocation_sites");
    json_open(j, '[');
    for (uint32_t i = 0; order && i < rows; i++)
        json_row(j, v, t, &t->list[order[i].index], all);
    json_close(j, ']');
    free(order);
}

const struct table_view view_allocations = {.text = text, .json = json};
