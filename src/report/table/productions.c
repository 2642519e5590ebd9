/* What productions have found, in reports: for each group its counts, or its hot streams. */
#include "report/table/productions.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/saturate.h"
#include "report/table/view.h"
#include "report/text.h"

enum { ROWS = 20, ITEMS = 6, WIDTH = 14 };

/* ---- rows ---- */

static struct symbol_location location(const struct view *v, const struct production_value *at)
{
    return symbols_find(v->symbols, &v->profile->processes[at->process], at->image, at->offset);
}

#define ORDER(x, y)                                                                                \
    if ((x) != (y))                                                                                \
    return (x) < (y) ? -1 : 1

static int compare_methods(const struct production_row *x, const struct production_row *y)
{
    const struct production_value *p = &x->values.of[0], *q = &y->values.of[0];
    ORDER(p->image, q->image);
    ORDER(p->process, q->process);
    ORDER(x->start, y->start);
    return 0;
}

static int compare_first(const void *a, const void *b)
{
    const struct production_row *x = a, *y = b;
    int order = compare_methods(x, y);
    if (order)
        return order;
    ORDER(x->index, y->index);
    return 0;
}

static int compare_weight(const void *a, const void *b)
{
    const struct production_row *x = a, *y = b;
    ORDER(y->weight, x->weight);
    ORDER(x->index, y->index);
    return 0;
}

/* One row a function. */
static uint32_t by_method(const struct view *v, struct production_row *rows, uint32_t n)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct symbol_location where = location(v, &rows[i].values.of[0]);
        uint64_t start = where.frames[where.count - 1].start;
        rows[i].start = start ? start : rows[i].values.of[0].offset;
    }
    qsort(rows, n, sizeof *rows, compare_first);
    for (uint32_t i = 0; i < n; i++) {
        struct production_row *last = kept ? &rows[kept - 1] : NULL;
        if (last && !compare_methods(last, &rows[i]))
            last->weight = add_saturated(last->weight, rows[i].weight);
        else
            rows[kept++] = rows[i];
    }
    return kept;
}

static bool is_of_methods(const struct profile_production_group *g)
{
    return g->kind == GROUP_COUNT && g->fields[0] == FIELD_METHOD && g->fields[1] == FIELD_NOTHING;
}

struct production_row *production_rows(const struct view *v, const struct profile_productions *t,
                                       uint32_t group, uint32_t *count)
{
    bool streams = t->groups[group].kind == GROUP_STREAM;
    uint32_t all = streams ? t->stream_count : t->count, n = 0;
    struct production_row *rows = calloc((size_t)all + 1, sizeof *rows);
    for (uint32_t i = 0; rows && i < all; i++) {
        const struct profile_production_stream *s = streams ? &t->streams[i] : NULL;
        if ((s ? s->group : t->counts[i].group) != group)
            continue;
        rows[n].index = i;
        rows[n].weight = s ? multiply_saturated(s->frequency, s->length) : t->counts[i].count;
        if (!s)
            rows[n].values = t->counts[i].values;
        n++;
    }
    if (rows && is_of_methods(&t->groups[group]))
        n = by_method(v, rows, n);
    if (rows)
        qsort(rows, n, sizeof *rows, compare_weight);
    *count = n;
    return rows;
}

static uint64_t weight_of(const struct production_row *rows, uint32_t count)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < count; i++)
        all = add_saturated(all, rows[i].weight);
    return all;
}

/* ---- text ---- */

static void write_signed(FILE *out, const char *from, uint64_t offset)
{
    int64_t distance = (int64_t)offset;
    fprintf(out, "%s%c0x%" PRIx64, from, distance < 0 ? '-' : '+',
            distance < 0 ? -(uint64_t)distance : (uint64_t)distance);
}

static void write_code(FILE *out, const struct view *v, const struct report_style *style,
                       const struct production_value *at, bool method)
{
    struct symbol_location where = location(v, at);
    const struct symbol_frame *outer = &where.frames[where.count - 1];
    text_function(out, style, outer->function, 40);
    if (method)
        return;
    if (!outer->unnamed && outer->start)
        fprintf(out, "+0x%" PRIx64, at->offset - outer->start);
    if (where.frames[0].line)
        fprintf(out, ":%" PRIu32, where.frames[0].line);
}

static void write_value(FILE *out, const struct view *v, const struct report_style *style,
                        const struct production_value *at, bool method)
{
    switch (at->kind) {
    case VALUE_CODE: write_code(out, v, style, at, method); break;
    case VALUE_IMAGE:
        text_name(out, symbols_place_name(v->symbols, at->image, at->offset), 0);
        write_signed(out, "", at->offset);
        break;
    case VALUE_STACK:
    case VALUE_HEAP:
    case VALUE_MAPS: write_signed(out, production_value_name(at->kind), at->offset); break;
    default: fprintf(out, "0x%" PRIx64, at->offset); break;
    }
}

/* a -> b, or a alone. */
static void write_values(FILE *out, const struct view *v, const struct report_style *style,
                         const struct profile_production_group *g,
                         const struct production_values *values)
{
    for (unsigned i = 0; i < PRODUCTION_FIELDS && values->of[i].kind != VALUE_NOTHING; i++) {
        fputs(!i ? "" : g->fields[1] == FIELD_ADDRESS ? " @" : " -> ", out);
        write_value(out, v, style, &values->of[i],
                    g->fields[i] == FIELD_METHOD || g->fields[i] == FIELD_TARGET);
    }
}

static void write_stream(FILE *out, const struct view *v, const struct report_style *style,
                         const struct profile_productions *t,
                         const struct profile_production_stream *s)
{
    char number[TEXT_NUMBER_SIZE];
    fprintf(out, "%s times %" PRIu32 ": ", text_count(number, s->frequency), s->length);
    for (uint32_t i = 0; i < s->length && i < ITEMS; i++) {
        fputs(i ? ", " : "", out);
        write_values(out, v, style, &t->groups[s->group], &t->items[s->first + i]);
    }
    fputs(s->length > ITEMS ? ", ..\n" : "\n", out);
}

static void write_group(FILE *out, const struct profile_production_group *g,
                        const struct report_style *style)
{
    char number[TEXT_NUMBER_SIZE];
    fputc('\n', out);
    text_colour(out, style, TEXT_BOLD);
    text_name(out, g->name, 0);
    text_colour(out, style, TEXT_PLAIN);
    fprintf(out, ": %s of %s", g->kind == GROUP_STREAM ? "hot streams" : "counts",
            production_field_name(g->fields[0]));
    if (g->fields[1] != FIELD_NOTHING)
        fprintf(out, ", %s", production_field_name(g->fields[1]));
    fprintf(out, "; %s seen", text_count(number, g->done));
    if (g->lost)
        fprintf(out, ", %s not kept", text_count(number, g->lost));
    fputc('\n', out);
}

static bool text_group(FILE *out, const struct view *v, const struct profile_productions *t,
                       uint32_t group, const struct report_style *style)
{
    const struct profile_production_group *g = &t->groups[group];
    char number[TEXT_NUMBER_SIZE];
    uint32_t count, shown = 0, limit = style->limit && style->limit < ROWS ? style->limit : ROWS;
    struct production_row *rows = production_rows(v, t, group, &count);
    if (!rows)
        return false;
    uint64_t all = g->kind == GROUP_STREAM ? g->done : weight_of(rows, count);
    write_group(out, g, style);
    for (; shown < count && shown < limit; shown++) {
        double share = text_share(rows[shown].weight, all);
        if (share < style->min)
            break;
        fprintf(out, "%7.2f%%  %*s  ", share, WIDTH, text_count(number, rows[shown].weight));
        if (g->kind == GROUP_STREAM) {
            write_stream(out, v, style, t, &t->streams[rows[shown].index]);
        } else {
            write_values(out, v, style, g, &rows[shown].values);
            fputc('\n', out);
        }
    }
    if (shown < count)
        fprintf(out, "%" PRIu32 " more not shown (--json has all)\n", count - shown);
    free(rows);
    return true;
}

static void header(FILE *out, const struct view *v, const void *table,
                   const struct report_style *style)
{
    const struct profile_productions *t = table;
    char number[3][TEXT_NUMBER_SIZE];
    (void)v;
    (void)style;
    if (!t->burst && !t->sparsity)
        fputs("productions: of recordings with different frequencies\n", out);
    else if (!t->sparsity && !t->exact)
        fprintf(out, "productions: events of %s bursts of the engine, that a clock began\n",
                text_count(number[0], t->bursts));
    else if (!t->sparsity)
        fputs("productions: all events\n", out);
    else
        fprintf(out, "productions: %s bursts of %s events, with %s events between\n",
                text_count(number[0], t->bursts), text_count(number[1], t->burst),
                text_count(number[2], t->sparsity));
}

static bool text(FILE *out, const struct view *v, const void *table,
                 const struct report_style *style, struct err *e)
{
    const struct profile_productions *t = table;
    for (uint32_t i = 0; i < t->group_count; i++)
        if (!text_group(out, v, t, i, style))
            return err_set(e, ERR_INTERNAL, "cannot order what productions found: out of memory");
    if (!t->group_count)
        fputs("the productions keep nothing: they have no call(), count() or append()\n", out);
    return true;
}

/* ---- JSON ---- */

/* `offset`: the value's own, or of a method where the function begins. */
static void json_value(struct json *j, const struct view *v, const struct production_value *at,
                       uint64_t offset)
{
    json_open(j, '{');
    json_key_string(j, "kind", production_value_name(at->kind));
    if (at->kind == VALUE_CODE || at->kind == VALUE_IMAGE)
        json_key_string(j, "image", symbols_place_name(v->symbols, at->image, at->offset));
    if (at->kind == VALUE_CODE) {
        struct symbol_location where = location(v, at);
        json_key_string(j, "function", where.frames[where.count - 1].function);
        json_key_string(j, "file", where.frames[0].file);
        json_key_u64(j, "line", where.frames[0].line);
    }
    if (at->kind == VALUE_STACK || at->kind == VALUE_HEAP || at->kind == VALUE_MAPS) {
        json_key(j, "offset");
        json_i64(j, (int64_t)at->offset);
    } else {
        json_key_address(j, at->kind == VALUE_NUMBER ? "value" : "offset", offset);
    }
    json_close(j, '}');
}

static void json_values(struct json *j, const struct view *v,
                        const struct production_values *values)
{
    json_open(j, '[');
    for (unsigned i = 0; i < PRODUCTION_FIELDS && values->of[i].kind != VALUE_NOTHING; i++)
        json_value(j, v, &values->of[i], values->of[i].offset);
    json_close(j, ']');
}

static void json_method(struct json *j, const struct view *v, const struct production_row *row)
{
    json_open(j, '[');
    json_value(j, v, &row->values.of[0], row->start);
    json_close(j, ']');
}

static void json_stream(struct json *j, const struct view *v, const struct profile_productions *t,
                        const struct profile_production_stream *s)
{
    json_key_u64(j, "frequency", s->frequency);
    json_key(j, "items");
    json_open(j, '[');
    for (uint32_t i = 0; i < s->length; i++)
        json_values(j, v, &t->items[s->first + i]);
    json_close(j, ']');
}

static void json_rows(struct json *j, const struct view *v, const struct profile_productions *t,
                      uint32_t group, uint32_t limit)
{
    uint32_t count;
    struct production_row *rows = production_rows(v, t, group, &count);
    j->out->failed |= !rows;
    json_open(j, '[');
    for (uint32_t i = 0; rows && i < count && (!limit || i < limit); i++) {
        json_open(j, '{');
        if (t->groups[group].kind == GROUP_STREAM) {
            json_stream(j, v, t, &t->streams[rows[i].index]);
        } else {
            json_key_u64(j, "count", rows[i].weight);
            json_key(j, "values");
            if (is_of_methods(&t->groups[group]))
                json_method(j, v, &rows[i]);
            else
                json_values(j, v, &rows[i].values);
        }
        json_close(j, '}');
    }
    json_close(j, ']');
    free(rows);
}

static void json_group(struct json *j, const struct view *v, const struct profile_productions *t,
                       uint32_t group, uint32_t limit)
{
    const struct profile_production_group *g = &t->groups[group];
    json_open(j, '{');
    json_key_string(j, "name", g->name);
    json_key(j, "fields");
    json_open(j, '[');
    for (unsigned i = 0; i < PRODUCTION_FIELDS && g->fields[i] != FIELD_NOTHING; i++)
        json_string(j, production_field_name(g->fields[i]));
    json_close(j, ']');
    json_key_u64(j, "done", g->done);
    json_key_u64(j, "lost", g->lost);
    json_key(j, g->kind == GROUP_STREAM ? "streams" : "counts");
    json_rows(j, v, t, group, limit);
    json_close(j, '}');
}

/* Members "production_totals" and "productions". */
static void json(struct json *j, const struct view *v, const void *table, uint32_t limit)
{
    static const struct profile_productions none;
    const struct profile_productions *t = table ? table : &none;
    json_key(j, "production_totals");
    json_open(j, '{');
    json_key_u64(j, "burst", t->burst);
    json_key_u64(j, "sparsity", t->sparsity);
    json_key_u64(j, "bursts", t->bursts);
    json_close(j, '}');
    json_key(j, "productions");
    json_open(j, '[');
    for (uint32_t i = 0; i < t->group_count; i++)
        json_group(j, v, t, i, limit);
    json_close(j, ']');
}

const struct table_view view_productions = {.header = header, .text = text, .json = json};
