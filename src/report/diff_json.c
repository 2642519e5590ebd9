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

static void put_row(struct json *j, const struct diff *d, const struct diff_row *row, bool context)
{
    const struct diff_function *f = &d->names.functions[row->function];
    json_open(j, '{');
    if (context) {
        json_key(j, "parent");
        json_i64(j, row->parent == VIEW_NONE ? -1 : (int64_t)row->parent);
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

bool diff_json(struct buf *out, const struct diff *d, const char *const *files, struct err *e)
{
    struct json j = {.out = out};
    const struct view *v = d->runs[0].view;
    const struct profile_metric *m = &v->profile->metrics[v->metric];
    json_open(&j, '{');
    json_key_string(&j, "normalize", diff_normalize_name(d->by));
    json_key_string(&j, "metric", m->name);
    json_key_string(&j, "unit", m->unit);
    json_key_double(&j, "rate", DIFF_RATE);
    put_runs(&j, d, "before", DIFF_BEFORE, files);
    put_runs(&j, d, "after", DIFF_AFTER, files);
    json_key(&j, "functions");
    json_open(&j, '[');
    uint32_t *order = diff_order(&d->functions, DIFF_SELF, e);
    for (uint32_t i = 0; order && i < d->functions.count; i++)
        put_row(&j, d, &d->functions.list[order[i]], false);
    json_close(&j, ']');
    json_key(&j, "contexts");
    json_open(&j, '[');
    for (uint32_t i = 0; i < d->contexts.count; i++)
        put_row(&j, d, &d->contexts.list[i], true);
    json_close(&j, ']');
    json_close(&j, '}');
    buf_put_u8(out, '\n');
    bool ok = order;
    free(order);
    return ok && (buf_ok(out) || err_set(e, ERR_INTERNAL, "cannot write JSON: out of memory"));
}
