/* Calls by call site and callee in reports (profile/events.h). */
#include <inttypes.h>
#include <stdlib.h>

#include "profile/events.h"
#include "report/table/events.h"
#include "report/table/view.h"
#include "report/text.h"

enum { ROWS = 40, WIDTH = 14, CALLER = 40 };

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

static const struct profile_entity *site_of(const struct view *v, const struct profile_event *e)
{
    static char name[] = "?", scope[] = "";
    static const struct profile_entity unknown = {.name = name, .scope = scope};
    const struct profile_entity *site = profile_entity_find(v->profile, e->offset);
    return site ? site : &unknown;
}

static void write_call(FILE *out, const struct view *v, const struct report_style *style,
                       const struct profile_events *t, const struct profile_event *e, uint64_t all)
{
    char number[TEXT_NUMBER_SIZE];
    const struct profile_entity *site = site_of(v, e);
    struct interval ci =
        events_interval(t, (double)e->weight, (double)e->squares, (double)all);
    fprintf(out, "%7.2f%%", text_share(e->weight, all));
    if (t->most > 1)
        fprintf(out, " [%6.2f, %6.2f]", 100 * ci.low, 100 * ci.high);
    fprintf(out, "  %*s  ", WIDTH, text_count(number, e->weight));
    text_function(out, style, site->name, CALLER);
    fputs(" (", out);
    text_name(out, site->scope, 0);
    fprintf(out, ":%" PRIu64, site->at);
    if (site->number)
        fprintf(out, ", number %" PRIu64, site->number + 1);
    fputs(") -> ", out);
    text_function(out, style, callee_name(v, e), CALLER);
    fputs(e->kind == EVENT_INLINED ? " (inlined)\n" : "\n", out);
}

static bool text(FILE *out, const struct view *v, const void *table,
                 const struct report_style *style, struct err *e)
{
    const struct profile_events *t = table;
    uint64_t all;
    if (!t->count) {
        fputs("no calls were observed (record --carrier compiled, of a program that penumbra cc "
              "has built)\n", out);
        return true;
    }
    struct ranked *order = events_order(t, UINT32_MAX, &all);
    if (!order)
        return err_set(e, ERR_INTERNAL, "cannot order the calls: out of memory");
    events_header(out, t);
    text_colour(out, style, TEXT_DIM);
    fprintf(out, "%8s%s  %*s  call site -> callee\n", "share",
            t->most > 1 ? "   95% interval  " : "", WIDTH, "calls");
    text_colour(out, style, TEXT_PLAIN);
    uint32_t rows = 0, limit = style->limit && style->limit < ROWS ? style->limit : ROWS;
    for (; rows < t->count && rows < limit; rows++) {
        if (text_share(order[rows].value, all) < style->min)
            break;
        write_call(out, v, style, t, &t->list[order[rows].index], all);
    }
    if (rows < t->count)
        fprintf(out, "%" PRIu32 " more\n", t->count - rows);
    free(order);
    return true;
}

static void json_call(struct json *j, const struct view *v, const struct profile_events *t,
                      const struct profile_event *e, uint64_t all)
{
    const struct profile_entity *site = site_of(v, e);
    json_open(j, '{');
    json_key_string(j, "caller", site->name);
    json_key_string(j, "file", site->scope);
    json_key_u64(j, "line", site->at);
    json_key_u64(j, "site", site->number);
    json_key_string(j, "callee", callee_name(v, e));
    json_key(j, "inlined");
    json_bool(j, e->kind == EVENT_INLINED);
    json_key(j, "indirect");
    json_bool(j, !entity_is(e->to));
    events_json(j, t, e, (double)all);
    json_close(j, '}');
}

/* Members "call_sites_interval", "call_sites_bursts", "call_sites_missed" and "call_sites". */
static void json(struct json *j, const struct view *v, const void *table, uint32_t limit)
{
    static const struct profile_events none;
    const struct profile_events *t = table ? table : &none;
    uint64_t all;
    struct ranked *order = events_order(t, UINT32_MAX, &all);
    uint32_t rows = limit && limit < t->count ? limit : t->count;
    j->out->failed |= !order;
    json_key_u64(j, "call_sites_interval", t->most);
    json_key_u64(j, "call_sites_bursts", t->bursts);
    json_key_u64(j, "call_sites_missed", t->missed);
    json_key(j, "call_sites");
    json_open(j, '[');
    for (uint32_t i = 0; order && i < rows; i++)
        json_call(j, v, t, &t->list[order[i].index], all);
    json_close(j, ']');
    free(order);
}

const struct table_view view_callsites = {.text = text, .json = json};
