#include "report/diff.h"

#include <stdlib.h>

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

/* What a context that is left out calls has no greater share than it has. */
static bool put_contexts(struct json *j, const struct diff *d, double min, struct err *e)
{
    int64_t *place = calloc((size_t)d->contexts.count + 1, sizeof *place), shown = 0;
    json_key(j, "contexts");
    json_open(j, '[');
    for (uint32_t i = 0; place && i < d->contexts.count; i++) {
        const struct diff_row *row = &d->contexts.list[i];
        int64_t parent = row->parent == VIEW_NONE ? -1 : place[row->parent];
        bool reached = row->parent == VIEW_NONE || parent >= 0;
        place[i] = reached && is_shown(row, min) ? shown++ : -1;
        if (place[i] >= 0)
            put_row(j, d, row, &parent);
    }
    json_close(j, ']');
    bool ok = place || err_set(e, ERR_INTERNAL, "cannot write JSON: out of memory");
    free(place);
    return ok;
}

bool diff_json(struct buf *out, const struct diff *d, const char *const *files, double min,
               struct err *e)
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
    bool ok = put_functions(&j, d, min, e) && put_contexts(&j, d, min, e);
    json_close(&j, '}');
    buf_put_u8(out, '\n');
    return ok && (buf_ok(out) || err_set(e, ERR_INTERNAL, "cannot write JSON: out of memory"));
}
