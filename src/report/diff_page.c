/* Calling contexts as the page reads them: columns, an element a context, so that half a million
 * are read at once. docs/json.md describes them. */
#include "report/diff_page.h"

#include <stdlib.h>

struct columns {
    struct json *j;
    const struct diff *d;
    const uint32_t *rows;
    uint32_t count;
};

static const struct diff_row *row_at(const struct columns *c, uint32_t i)
{
    return &c->d->contexts.list[c->rows[i]];
}

static void put_frame(struct json *j, const struct diff_function *f)
{
    json_open(j, '[');
    json_string(j, f->name);
    json_string(j, f->image);
    if (f->was)
        json_string(j, f->was);
    json_close(j, ']');
}

/* frame: by function, 1 + its number. */
static void put_frames(const struct columns *c, uint32_t *frame)
{
    uint32_t count = 0;
    json_key(c->j, "frames");
    json_open(c->j, '[');
    for (uint32_t i = 0; i < c->count; i++) {
        uint32_t function = row_at(c, i)->function;
        if (frame[function])
            continue;
        frame[function] = ++count;
        put_frame(c->j, &c->d->names.functions[function]);
    }
    json_close(c->j, ']');
}

static double before_of(const struct diff_change *c)
{
    return 100 * c->value[DIFF_BEFORE];
}

static double after_of(const struct diff_change *c)
{
    return 100 * c->value[DIFF_AFTER];
}

static double low_of(const struct diff_change *c)
{
    return 100 * c->low;
}

static double high_of(const struct diff_change *c)
{
    return 100 * c->high;
}

static double significant_of(const struct diff_change *c)
{
    return diff_is_significant(c);
}

static void put_weight(const struct columns *c, const char *key, enum diff_weight weight)
{
    static const struct {
        const char *key;
        double (*of)(const struct diff_change *c);
    } columns[] = {{"before", before_of}, {"after", after_of}, {"low", low_of},
                   {"high", high_of}, {"significant", significant_of}};
    json_key(c->j, key);
    json_open(c->j, '{');
    for (unsigned k = 0; k < sizeof columns / sizeof columns[0]; k++) {
        json_key(c->j, columns[k].key);
        json_open(c->j, '[');
        for (uint32_t i = 0; i < c->count; i++)
            json_double(c->j, columns[k].of(&row_at(c, i)->change[weight]));
        json_close(c->j, ']');
    }
    json_close(c->j, '}');
}

bool diff_page_contexts(struct json *j, const struct diff *d, const uint32_t *rows, uint32_t count,
                        const int64_t *place)
{
    const struct columns c = {j, d, rows, count};
    uint32_t *frame = calloc((size_t)d->names.count + 1, sizeof *frame);
    if (!frame)
        return false;
    put_frames(&c, frame);
    json_key(j, "contexts");
    json_open(j, '{');
    json_key(j, "frame");
    json_open(j, '[');
    for (uint32_t i = 0; i < count; i++)
        json_u64(j, frame[row_at(&c, i)->function] - 1);
    json_close(j, ']');
    json_key(j, "parent");
    json_open(j, '[');
    for (uint32_t i = 0; i < count; i++)
        json_i64(j, row_at(&c, i)->parent == VIEW_NONE ? -1 : place[row_at(&c, i)->parent]);
    json_close(j, ']');
    put_weight(&c, "self", DIFF_SELF);
    put_weight(&c, "total", DIFF_TOTAL);
    json_close(j, '}');
    free(frame);
    return true;
}
