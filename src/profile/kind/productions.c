/* What productions have found (table/productions.h), in the file. */
#include "profile/kind/kind.h"
#include "profile/table/productions.h"
#include "sigsafe/hot_streams.h"
#include "sigsafe/tools.h"

enum { GROUP_BYTES = 6, VALUES_BYTES = 8, COUNT_BYTES = VALUES_BYTES + 2, STREAM_BYTES = 3 };

static struct profile_productions *table_of(const struct profile *p)
{
    return observed_table(p, TABLE_PRODUCTIONS);
}

static bool needed(const struct profile *p)
{
    return table_of(p);
}

/* ---- values ---- */

static bool value_good(const struct profile *p, const struct production_value *v, uint32_t field)
{
    bool code = v->kind == VALUE_CODE, placed = code || v->kind == VALUE_IMAGE;
    return production_value_fits(v->kind, field) &&
           (placed ? image_exists(p, v->image) : v->image == PROFILE_IMAGE_NONE) &&
           (code ? v->process < p->process_count : !v->process);
}

static bool values_good(const struct profile *p, const struct profile_productions *t,
                        uint32_t group, const struct production_values *v)
{
    if (group >= t->group_count)
        return false;
    const uint32_t *fields = t->groups[group].fields;
    return value_good(p, &v->of[0], fields[0]) && value_good(p, &v->of[1], fields[1]);
}

static void put_values(struct buf *b, const struct production_values *v)
{
    for (unsigned i = 0; i < PRODUCTION_FIELDS; i++) {
        buf_put_uleb(b, v->of[i].kind);
        buf_put_uleb(b, v->of[i].image + FRAME_IMAGE_FIRST);
        buf_put_uleb(b, v->of[i].process);
        buf_put_uleb(b, v->of[i].offset);
    }
}

static void get_values(const struct decoder *d, struct cursor *c, const uint32_t *fields,
                       struct production_values *v)
{
    for (unsigned i = 0; i < PRODUCTION_FIELDS && !c->failed; i++) {
        struct production_value *to = &v->of[i];
        to->kind = (uint32_t)cursor_uleb(c, VALUE_KINDS - 1, "the kind of a value");
        read_images(d, c, &to->image, 1, sizeof *to, "the image of a value, not 0");
        to->process = read_u32(c, "the process of a value");
        to->offset = read_u64(c, "a value");
        if (!c->failed && !value_good(d->p, to, fields[i]))
            cursor_fail(c, "a value of its group's fields, an image and a process that there are");
    }
}

/* ---- writing ---- */

static bool check(const struct profile *p, struct err *e)
{
    const struct profile_productions *t = table_of(p);
    bool good = true;
    for (uint32_t i = 0; i < t->count; i++)
        good &= values_good(p, t, t->counts[i].group, &t->counts[i].values);
    for (uint32_t i = 0; i < t->stream_count; i++)
        for (uint32_t k = 0; k < t->streams[i].length; k++)
            good &= values_good(p, t, t->streams[i].group, &t->items[t->streams[i].first + k]);
    return good || err_set(e, ERR_INTERNAL,
                           "the profile cannot be written: a value of a production is of no image "
                           "or process, or of no group");
}

static void put_groups(struct buf *b, const struct profile_productions *t)
{
    for (uint32_t i = 0; i < t->group_count; i++) {
        const struct profile_production_group *g = &t->groups[i];
        buf_put_string(b, g->name);
        buf_put_uleb(b, g->kind);
        buf_put_uleb(b, g->fields[0]);
        buf_put_uleb(b, g->fields[1]);
        buf_put_uleb(b, g->done);
        buf_put_uleb(b, g->lost);
    }
}

static void put(struct buf *b, const struct encoder *x)
{
    const struct profile_productions *t = table_of(x->p);
    buf_put_uleb(b, t->burst);
    buf_put_uleb(b, t->sparsity);
    buf_put_uleb(b, t->bursts);
    buf_put_uleb(b, t->exact);
    buf_put_uleb(b, t->group_count);
    put_groups(b, t);
    buf_put_uleb(b, t->count);
    for (uint32_t i = 0; i < t->count; i++) {
        buf_put_uleb(b, t->counts[i].group);
        buf_put_uleb(b, t->counts[i].count);
        put_values(b, &t->counts[i].values);
    }
    buf_put_uleb(b, t->stream_count);
    for (uint32_t i = 0; i < t->stream_count; i++) {
        const struct profile_production_stream *s = &t->streams[i];
        buf_put_uleb(b, s->group);
        buf_put_uleb(b, s->frequency);
        buf_put_uleb(b, s->length);
        for (uint32_t k = 0; k < s->length; k++)
            put_values(b, &t->items[s->first + k]);
    }
}

/* ---- reading ---- */

static uint32_t get_field(struct cursor *c)
{
    uint32_t field = (uint32_t)cursor_uleb(c, FIELD_NOTHING, "the field of a group");
    if (!c->failed && field >= FIELD_END && field != FIELD_NOTHING)
        cursor_fail(c, "the field of a group");
    return field;
}

static bool get_group(struct cursor *c, struct profile_productions *t)
{
    struct profile_production_group g = {.kind = 0};
    uint32_t length;
    const char *name = cursor_text(c, &length, "the name of a group");
    for (uint32_t i = 0; name && i < length && i < PRODUCTION_NAME - 1; i++)
        g.name[i] = name[i];
    g.kind = (uint32_t)cursor_uleb(c, GROUP_STREAM, "the kind of a group");
    g.fields[0] = get_field(c);
    g.fields[1] = get_field(c);
    if (!c->failed && g.fields[0] == FIELD_NOTHING)
        cursor_fail(c, "a group of one field or two");
    g.done = read_u64(c, "the actions of a group");
    g.lost = read_u64(c, "the lost actions of a group");
    if (!c->failed && !profile_productions_add_group(t, &g))
        read_no_memory(c);
    return !c->failed;
}

/* The index of one. */
static uint32_t get_group_index(struct cursor *c, const struct profile_productions *t)
{
    if (!t->group_count)
        cursor_fail(c, "a group before what it has");
    uint32_t most = t->group_count ? t->group_count - 1 : 0;
    return (uint32_t)cursor_uleb(c, most, "the index of a group");
}

static void get_counts(const struct decoder *d, struct cursor *c, struct profile_productions *t)
{
    uint32_t n = cursor_count(c, COUNT_BYTES, "a number of counts that fits the section");
    for (uint32_t i = 0; i < n && !c->failed; i++) {
        struct profile_production_count one = {.group = get_group_index(c, t)};
        one.count = read_u64(c, "a count of values");
        if (!c->failed)
            get_values(d, c, t->groups[one.group].fields, &one.values);
        if (!c->failed && !profile_productions_add_count(t, &one))
            read_no_memory(c);
    }
}

static void get_streams(const struct decoder *d, struct cursor *c, struct profile_productions *t)
{
    uint32_t n = cursor_count(c, STREAM_BYTES, "a number of streams that fits the section");
    for (uint32_t i = 0; i < n && !c->failed; i++) {
        struct production_values items[HOT_STREAM_MOST];
        struct profile_production_stream s = {.group = get_group_index(c, t)};
        s.frequency = read_u64(c, "the frequency of a stream");
        s.length = (uint32_t)cursor_uleb(c, HOT_STREAM_MOST, "the length of a stream");
        if (!c->failed && !s.length)
            cursor_fail(c, "the length of a stream, 1 at least");
        for (uint32_t k = 0; k < s.length && !c->failed; k++)
            get_values(d, c, t->groups[s.group].fields, &items[k]);
        if (!c->failed && !profile_productions_add_stream(t, &s, items))
            read_no_memory(c);
    }
}

static void get(struct decoder *d, struct cursor *c)
{
    struct profile_productions *t = profile_productions_new();
    if (!t) {
        read_no_memory(c);
        return;
    }
    profile_observe(d->p, OBSERVED_TABLES + TABLE_PRODUCTIONS, t);
    t->burst = read_u64(c, "the events of a burst");
    t->sparsity = read_u64(c, "the events between bursts");
    t->bursts = read_u64(c, "the number of bursts");
    t->exact = cursor_uleb(c, 1, "whether all was seen");
    uint32_t n = cursor_count(c, GROUP_BYTES, "a number of groups that fits the section");
    for (uint32_t i = 0; i < n && get_group(c, t); i++)
        ;
    get_counts(d, c, t);
    get_streams(d, c, t);
}

const struct section_kind kind_productions = {
    .type = {49, "productions", 0},
    .within = 24,
    .about = "optional, with 24: counts and hot streams that productions ask for",
    .needed = needed,
    .check = check,
    .put = put,
    .get = get,
};
