#include "report/diff.h"

#include <stdlib.h>

#include "report/diff_causes.h"
#include "report/diff_lines.h"
#include "report/diff_page.h"
#include "report/json.h"

void diff_json_change(struct json *j, const char *key, const struct diff_change *c)
{
    json_key(j, key);
    json_open(j, '{');
    json_key_double(j, "before", 100 * c->value[DIFF_BEFORE]);
    json_key_double(j, "after", 100 * c->value[DIFF_AFTER]);
    json_key_double(j, "difference", 100 * diff_difference(c));
    json_key_double(j, "low", 100 * c->low);
    json_key_double(j, "high", 100 * c->high);
    json_key_double(j, "p", c->p);
    json_key_double(j, "q", c->q);
    json_key(j, "significant");
    json_bool(j, diff_is_significant(c));
    json_key(j, "samples");
    json_open(j, '[');
    json_u64(j, (uint64_t)c->samples[DIFF_BEFORE]);
    json_u64(j, (uint64_t)c->samples[DIFF_AFTER]);
    json_close(j, ']');
    json_close(j, '}');
}

/* parent: of a context, where its caller is in the list; NULL: a function. */
static void put_row(struct json *j, const struct diff *d, const struct diff_row *row,
                    const int64_t *parent)
{
    const struct diff_function *f = &d->names.functions[row->function];
    json_open(j, '{');
    if (parent) {
        json_key(j, "parent");
        json_i64(j, *parent);
    }
    json_key_string(j, "name", f->name);
    json_key_string(j, "image", f->image);
    if (f->was)
        json_key_string(j, "was", f->was);
    json_key_string(j, "presence", diff_presence(row));
    diff_json_change(j, "self", &row->change[DIFF_SELF]);
    diff_json_change(j, "total", &row->change[DIFF_TOTAL]);
    const struct diff_rows *rows = parent ? &d->contexts : &d->functions;
    if (rows->causes)
        diff_causes_json(j, &rows->causes[row - rows->list], DIFF_SELF);
    json_close(j, '}');
}

static void put_runs(struct json *j, const struct diff *d, const char *key, unsigned side,
                     const char *const *files)
{
    json_key(j, key);
    json_open(j, '[');
    for (uint32_t r = 0; r < d->run_count; r++) {
        const struct view *v = d->runs[r].view;
        if (d->runs[r].side != side)
            continue;
        json_open(j, '{');
        json_key_string(j, "file", files[r]);
        json_key_string(j, "command", v->profile->command);
        json_key_u64(j, "samples", v->samples);
        json_key_double(j, "effective_samples", v->effective);
        json_key_double(j, "scale", d->scales[r]);
        if (diff_causes_machine(&d->runs[r]))
            json_key_string(j, "machine", diff_causes_machine(&d->runs[r]));
        json_close(j, '}');
    }
    json_close(j, ']');
}

static bool is_shown(const struct diff_row *row, double min)
{
    const struct diff_change *c = &row->change[DIFF_TOTAL];
    return c->value[DIFF_BEFORE] >= min || c->value[DIFF_AFTER] >= min;
}

static bool put_functions(struct json *j, const struct diff *d, double min, struct err *e)
{
    uint32_t *order = diff_order(&d->functions, DIFF_SELF, e);
    json_key(j, "functions");
    json_open(j, '[');
    for (uint32_t i = 0; order && i < d->functions.count; i++)
        if (is_shown(&d->functions.list[order[i]], min))
            put_row(j, d, &d->functions.list[order[i]], NULL);
    json_close(j, ']');
    bool ok = order;
    free(order);
    return ok;
}

/* By context: where it is among those that are shown, or -1. What a context that is left out calls
 * has no greater share than it has. */
static uint32_t place_contexts(const struct diff *d, double min, int64_t *place, uint32_t *rows)
{
    uint32_t shown = 0;
    for (uint32_t i = 0; i < d->contexts.count; i++) {
        const struct diff_row *row = &d->contexts.list[i];
        bool reached = row->parent == VIEW_NONE || place[row->parent] >= 0;
        place[i] = -1;
        if (!reached || !is_shown(row, min))
            continue;
        place[i] = shown;
        rows[shown++] = i;
    }
    return shown;
}

static void put_contexts(struct json *j, const struct diff *d, const uint32_t *rows, uint32_t count,
                         const int64_t *place)
{
    json_key(j, "contexts");
    json_open(j, '[');
    for (uint32_t i = 0; i < count; i++) {
        const struct diff_row *row = &d->contexts.list[rows[i]];
        int64_t parent = row->parent == VIEW_NONE ? -1 : place[row->parent];
        put_row(j, d, row, &parent);
    }
    json_close(j, ']');
}

static bool put_all_contexts(struct json *j, const struct diff *d, bool page, double min,
                             struct err *e)
{
    int64_t *place = calloc((size_t)d->contexts.count + 1, sizeof *place);
    uint32_t *rows = calloc((size_t)d->contexts.count + 1, sizeof *rows);
    bool ok = place && rows;
    uint32_t count = ok ? place_contexts(d, min, place, rows) : 0;
    if (ok && page)
        ok = diff_page_contexts(j, d, rows, count, place);
    else if (ok)
        put_contexts(j, d, rows, count, place);
    free(place);
    free(rows);
    return ok || err_set(e, ERR_INTERNAL, "cannot write JSON: out of memory");
}

bool diff_json(struct buf *out, const struct diff *d, const char *const *files, bool page,
               double min, struct err *e)
{
    struct json j = {.out = out};
    const struct view *v = d->runs[0].view;
    const struct profile_metric *m = &v->profile->metrics[v->metric];
    json_open(&j, '{');
    json_key_string(&j, "normalize", diff_normalize_name(d->by));
    json_key_string(&j, "metric", m->name);
    json_key_string(&j, "unit", m->unit);
    json_key_double(&j, "rate", DIFF_RATE);
    json_key_double(&j, "dispersion", d->dispersion);
    put_runs(&j, d, "before", DIFF_BEFORE, files);
    put_runs(&j, d, "after", DIFF_AFTER, files);
    if (d->contexts.causes)
        diff_causes_json(&j, d->contexts.causes, DIFF_TOTAL);
    bool ok = put_functions(&j, d, min, e) && put_all_contexts(&j, d, page, min, e) &&
              (page || !d->contexts.causes || diff_lines_json(&j, d, e));
    json_close(&j, '}');
    buf_put_u8(out, '\n');
    return ok && (buf_ok(out) || err_set(e, ERR_INTERNAL, "cannot write JSON: out of memory"));
}
