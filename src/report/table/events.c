#include "report/table/events.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/saturate.h"
#include "report/text.h"

enum { ROWS = 40, CALLER = 40, KEY = 64 };

struct interval events_interval(const struct profile_events *t, double part, double squares,
                                double whole)
{
    double share = whole > 0 ? part / whole : 0;
    if (t->most <= 1)
        return (struct interval){share, share};
    /* What was never seen was not seen in any burst. */
    return ci_wilson(share, squares > 0 ? part * whole / squares : (double)t->bursts);
}

void events_header(FILE *out, const struct profile_events *t)
{
    char bursts[TEXT_NUMBER_SIZE], number[TEXT_NUMBER_SIZE];
    if (t->most <= 1)
        fprintf(out, "every check was a sample: counts are exact\n");
    else
        fprintf(out, "estimated from %s bursts, one at some %s checks at most\n",
                text_count(bursts, t->bursts), text_count(number, t->most));
    if (t->missed)
        fprintf(out, "not counted, as there was no room: %s events\n",
                text_count(number, t->missed));
}

static bool is_of(const struct profile_event *e, uint32_t kind)
{
    return kind == UINT32_MAX || e->kind == kind;
}

static uint32_t events_count(const struct profile_events *t, uint32_t kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < t->count; i++)
        count += is_of(&t->list[i], kind);
    return count;
}

struct ranked *events_order(const struct profile_events *t, uint32_t kind, uint64_t *all)
{
    struct ranked *order = calloc((size_t)t->count + 1, sizeof *order);
    uint32_t count = 0;
    *all = 0;
    for (uint32_t i = 0; order && i < t->count; i++) {
        if (!is_of(&t->list[i], kind))
            continue;
        order[count++] = (struct ranked){t->list[i].weight, i};
        *all = add_saturated(*all, t->list[i].weight);
    }
    if (order)
        qsort(order, count, sizeof *order, compare_ranked);
    return order;
}

void events_json_share(struct json *j, const struct profile_events *t,
                       const struct profile_event *e, double all)
{
    struct interval ci = events_interval(t, (double)e->weight, (double)e->squares, all);
    json_key_double(j, "share", all > 0 ? 100 * (double)e->weight / all : 0);
    json_key_double(j, "share_low", 100 * ci.low);
    json_key_double(j, "share_high", 100 * ci.high);
}

void events_json(struct json *j, const struct profile_events *t, const struct profile_event *e,
                 double all)
{
    json_key_u64(j, "count", e->weight);
    json_key_u64(j, "seen", e->samples);
    events_json_share(j, t, e, all);
}

void events_write_site(FILE *out, const struct report_style *style,
                       const struct profile_entity *site)
{
    text_function(out, style, site->name, CALLER);
    fputs(" (", out);
    text_name(out, site->scope, 0);
    fprintf(out, ":%" PRIu64, site->at);
    if (site->number)
        fprintf(out, ", number %" PRIu64, site->number + 1);
    fputc(')', out);
}

void events_json_site(struct json *j, const struct profile_entity *site)
{
    json_key_string(j, "caller", site->name);
    json_key_string(j, "file", site->scope);
    json_key_u64(j, "line", site->at);
    json_key_u64(j, "site", site->number);
}

const struct profile_entity *events_entity(const struct view *v, uint64_t id)
{
    static char name[] = "?", scope[] = "";
    static const struct profile_entity unknown = {.name = name, .scope = scope};
    const struct profile_entity *entity = profile_entity_find(v->profile, id);
    return entity ? entity : &unknown;
}

static void write_share(FILE *out, const struct events_shown *s, const struct profile_event *e)
{
    fprintf(out, "%7.2f%%", text_share(e->weight, s->all));
    if (s->table->most > 1) {
        struct interval ci = events_interval(s->table, (double)e->weight, (double)e->squares,
                                             (double)s->all);
        fprintf(out, " [%6.2f, %6.2f]", 100 * ci.low, 100 * ci.high);
    }
    fputs("  ", out);
}

bool events_text_rows(FILE *out, const struct events_rows *rows, const struct view *v,
                      const void *table, struct value_reader *values,
                      const struct report_style *style, struct err *e)
{
    struct events_shown s = {v, table, values, 0};
    uint32_t count = events_count(s.table, rows->kind);
    if (!count) {
        fprintf(out, "no %s were observed (%s)\n", rows->what, rows->none);
        return true;
    }
    struct ranked *order = events_order(s.table, rows->kind, &s.all);
    if (!order)
        return err_set(e, ERR_INTERNAL, "cannot order the %s: out of memory", rows->what);
    events_header(out, s.table);
    text_colour(out, style, TEXT_DIM);
    fprintf(out, "%8s%s  %s\n", "share", s.table->most > 1 ? "   95% interval  " : "",
            rows->columns);
    text_colour(out, style, TEXT_PLAIN);
    uint32_t i = 0, limit = style->limit && style->limit < ROWS ? style->limit : ROWS;
    for (; i < count && i < limit && text_share(order[i].value, s.all) >= style->min; i++) {
        const struct profile_event *event = &s.table->list[order[i].index];
        write_share(out, &s, event);
        rows->text(out, &s, style, event);
    }
    if (i < count)
        fprintf(out, "%" PRIu32 " more\n", count - i);
    free(order);
    return true;
}

static void json_figure(struct json *j, const char *prefix, const char *name, uint64_t value)
{
    char key[KEY];
    snprintf(key, sizeof key, "%s_%s", prefix, name);
    json_key_u64(j, key, value);
}

void events_json_rows(struct json *j, const struct events_rows *rows, const struct view *v,
                      const void *table, struct value_reader *values, uint32_t limit)
{
    static const struct profile_events none;
    struct events_shown s = {v, table ? table : &none, values, 0};
    struct ranked *order = events_order(s.table, rows->kind, &s.all);
    uint32_t count = events_count(s.table, rows->kind);
    j->out->failed |= !order;
    json_figure(j, rows->prefix, "interval", s.table->most);
    json_figure(j, rows->prefix, "bursts", s.table->bursts);
    json_figure(j, rows->prefix, "missed", s.table->missed);
    json_key(j, rows->member);
    json_open(j, '[');
    for (uint32_t i = 0; order && i < count && (!limit || i < limit); i++)
        rows->json(j, &s, &s.table->list[order[i].index]);
    json_close(j, ']');
    free(order);
}
