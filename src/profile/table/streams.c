/* Strides of the addresses of loads and stores: from the spool, in a profile, in its file. */
#include "sigsafe/spool_streams.h"

#include <stdlib.h>

#include "base/saturate.h"
#include "base/sort.h"
#include "profile/kind/kind.h"
#include "profile/spool_rows.h"
#include "profile/table/table.h"
#include "sigsafe/tools.h"

struct profile_streams *profile_streams_new(void)
{
    return calloc(1, sizeof(struct profile_streams));
}

void profile_streams_free(struct profile_streams *s)
{
    if (!s)
        return;
    free(s->list);
    free(s);
}

bool profile_streams_add(struct profile_streams *s, const struct profile_stream *stream)
{
    if (s->count >= s->capacity) {
        uint32_t capacity = s->count ? s->count * 2 : 256;
        struct profile_stream *list =
            s->count > UINT32_MAX / 4 ? NULL : realloc(s->list, capacity * sizeof *list);
        if (!list)
            return false;
        s->list = list;
        s->capacity = capacity;
    }
    s->list[s->count++] = *stream;
    return true;
}

static void free_table(void *table)
{
    profile_streams_free(table);
}

static bool site(void *table, uint32_t at, struct profile_site *out)
{
    struct profile_streams *s = table;
    if (at >= s->count)
        return false;
    struct profile_stream *a = &s->list[at];
    *out = (struct profile_site){SITE_ACCESS, 1, {{&a->image, &a->process, a->offset}}};
    return true;
}

static bool append(void **into, const void *from, const struct table_append *how)
{
    const struct profile_streams *added = from;
    struct profile_streams *s = *into ? *into : profile_streams_new();
    *into = s;
    for (uint32_t i = 0; s && i < added->count; i++) {
        struct profile_stream stream = added->list[i];
        stream.image = profile_counts_image_in(how->image_of, stream.image);
        stream.process += how->first_process;
        if (!profile_streams_add(s, &stream))
            return false;
    }
    if (s)
        s->missed = add_saturated(s->missed, added->missed);
    return s;
}

#define ORDER(x, y)                                                                                \
    if ((x) != (y))                                                                                \
    return (x) < (y) ? -1 : 1

static int compare_streams(const void *a, const void *b)
{
    const struct profile_stream *x = a, *y = b;
    ORDER(x->image + FRAME_IMAGE_FIRST, y->image + FRAME_IMAGE_FIRST);
    ORDER(x->process, y->process);
    ORDER(x->offset, y->offset);
    ORDER(x->kind, y->kind);
    ORDER(x->bytes, y->bytes);
    return 0;
}

/* The table of both: the most frequent strides of all, and the rest to `others`. */
static void merge_strides(struct profile_stream *to, const struct profile_stream *from)
{
    int64_t strides[2 * STREAM_STRIDES];
    uint64_t times[2 * STREAM_STRIDES];
    unsigned count = 0;
    for (unsigned i = 0; i < 2 * STREAM_STRIDES; i++) {
        const struct profile_stream *s = i < STREAM_STRIDES ? to : from;
        unsigned at = 0, k = i % STREAM_STRIDES;
        while (at < count && strides[at] != s->strides[k])
            at++;
        if (!s->times[k])
            continue;
        strides[at] = s->strides[k];
        times[at] = at < count ? add_saturated(times[at], s->times[k]) : s->times[k];
        count += at == count;
    }
    to->others = add_saturated(to->others, from->others);
    for (unsigned i = 0; i < STREAM_STRIDES; i++) {
        unsigned most = i;
        for (unsigned k = i + 1; k < count; k++)
            if (times[k] > times[most])
                most = k;
        to->times[i] = i < count ? times[most] : 0;
        to->strides[i] = i < count ? strides[most] : 0;
        if (i < count) {
            times[most] = times[i];
            strides[most] = strides[i];
        }
    }
    for (unsigned i = STREAM_STRIDES; i < count; i++)
        to->others = add_saturated(to->others, times[i]);
}

static void merge_stream(struct profile_stream *to, const struct profile_stream *from)
{
    to->count = add_saturated(to->count, from->count);
    to->runs = add_saturated(to->runs, from->runs);
    to->same_line = add_saturated(to->same_line, from->same_line);
    to->span = to->span > from->span ? to->span : from->span;
    merge_strides(to, from);
}

static bool settle(void *table, const uint32_t *new_index)
{
    struct profile_streams *s = table;
    uint32_t kept = 0;
    (void)new_index;
    for (uint32_t i = 0; i < s->count; i++)
        if (!profile_is_private(s->list[i].image, s->list[i].offset))
            s->list[i].process = 0;
    sort_runs(s->list, s->count, sizeof *s->list, compare_streams);
    for (uint32_t i = 0; i < s->count; i++) {
        struct profile_stream *last = kept ? &s->list[kept - 1] : NULL;
        if (last && compare_streams(last, &s->list[i]) == 0)
            merge_stream(last, &s->list[i]);
        else
            s->list[kept++] = s->list[i];
    }
    s->count = kept;
    return true;
}

const char *profile_stream_kind(uint32_t kind)
{
    return kind == ACCESS_LOAD ? "load" : kind == ACCESS_STORE ? "store" : "update";
}

/* ---- from the spool ---- */

static bool add_stream(struct counts_process *q, const struct spool_thing *t,
                       const struct spool_stream *s)
{
    struct profile_stream stream = {.image = spool_counts_image(t->key),
                                    .process = q->process,
                                    .offset = key_offset(t->key),
                                    .bytes = t->access.bytes,
                                    .kind = t->access.way,
                                    .count = s->count,
                                    .span = s->hi > s->lo ? s->hi - s->lo : 0,
                                    .runs = s->runs,
                                    .same_line = s->same_line,
                                    .others = s->others};
    for (unsigned i = 0; i < STREAM_STRIDES; i++) {
        stream.strides[i] = s->strides[i];
        stream.times[i] = s->times[i];
    }
    return profile_streams_add(observed_table(q->profile, TABLE_STREAMS), &stream);
}

static bool stream_row(void *data, uint32_t id, const void *row)
{
    struct counts_process *q = data;
    struct spool_thing thing;
    struct spool_stream s = *(const struct spool_stream *)row;
    if (!s.count)
        return true;
    bool known = spool_counts_thing(q, id, &thing) && s.count <= SPOOL_COUNTER_MAX;
    if (known && spool_counts_is_block(&thing))
        return spool_counts_add_block(q, &thing, s.count);
    if (known && spool_counts_is_access(&thing))
        return add_stream(q, &thing, &s);
    q->r->view->damage++;
    return true;
}

static bool add_process(struct counts_process *q)
{
    const uint32_t *list = &q->record->tables[TABLE_STREAMS];
    struct profile_streams *s = observed_table(q->profile, TABLE_STREAMS);
    if (!__atomic_load_n(list, __ATOMIC_ACQUIRE))
        return true;
    if (!s && (s = profile_streams_new()))
        profile_observe(q->profile, OBSERVED_TABLES + TABLE_STREAMS, s);
    return s && spool_rows_read(q->r->view, list, STREAM_LAYOUT, &q->r->table_bytes, stream_row, q,
                                &s->missed);
}

const struct profile_table table_streams = {
    .read = add_process,
    .free = free_table,
    .site = site,
    .append = append,
    .settle = settle,
};

/* ---- in the file ---- */

PROFILE_PLACE_FIRST(struct profile_stream);

static bool section_needed(const struct profile *p)
{
    return observed_table(p, TABLE_STREAMS);
}

/* Columns of plain numbers, in the order of the file. */
#define STREAM_COLUMNS(X)                                                                          \
    X(kind, ACCESS_UPDATE, "whether an access loads, stores or both")                              \
    X(bytes, UINT32_MAX, "the bytes of an access")                                                 \
    X(count, UINT64_MAX, "a number of accesses")                                                   \
    X(span, UINT64_MAX, "the span of a stream")                                                    \
    X(runs, UINT64_MAX, "the runs of a stream")                                                    \
    X(same_line, UINT64_MAX, "accesses in the same line")                                          \
    X(others, UINT64_MAX, "other strides")

static void section_put(struct buf *b, const struct encoder *x)
{
    const struct profile_streams *s = observed_table(x->p, TABLE_STREAMS);
    const struct profile_stream *at = s->list;
    uint32_t n = s->count;
    buf_put_uleb(b, s->missed);
    buf_put_uleb(b, n);
    write_places(b, at, n, sizeof *at);
#define PUT(field, most, what)                                                                     \
    for (uint32_t i = 0; i < n; i++)                                                               \
        buf_put_uleb(b, at[i].field);
    STREAM_COLUMNS(PUT)
#undef PUT
    for (unsigned k = 0; k < STREAM_STRIDES; k++) {
        for (uint32_t i = 0; i < n; i++)
            buf_put_sleb(b, at[i].strides[k]);
        for (uint32_t i = 0; i < n; i++)
            buf_put_uleb(b, at[i].times[k]);
    }
}

static bool section_check(const struct profile *p, struct err *e)
{
    const struct profile_streams *s = observed_table(p, TABLE_STREAMS);
    for (uint32_t i = 0; i < s->count; i++)
        if (!places_good(p, &s->list[i], i ? &s->list[i - 1] : NULL))
            return err_set(e, ERR_INTERNAL,
                           "the profile cannot be written: a stream is of no image or "
                           "process, or out of order");
    return true;
}

static void get_columns(struct decoder *d, struct cursor *c, struct profile_stream *at, uint32_t n)
{
    read_places(d, c, at, n, sizeof *at);
#define GET(field, most, what)                                                                     \
    for (uint32_t i = 0; i < n && !c->failed; i++)                                                 \
        at[i].field = (__typeof__(at[i].field))cursor_uleb(c, most, what);
    STREAM_COLUMNS(GET)
#undef GET
    for (unsigned k = 0; k < STREAM_STRIDES; k++) {
        for (uint32_t i = 0; i < n && !c->failed; i++)
            at[i].strides[k] = cursor_sleb(c, "a stride");
        for (uint32_t i = 0; i < n && !c->failed; i++)
            at[i].times[k] = cursor_uleb(c, UINT64_MAX, "how often a stride was met");
    }
}

static void section_get(struct decoder *d, struct cursor *c)
{
    struct profile_streams *s = profile_streams_new();
    if (s)
        profile_observe(d->p, OBSERVED_TABLES + TABLE_STREAMS, s);
    if (!s) {
        read_no_memory(c);
        return;
    }
    enum { COLUMNS = 10 + 2 * STREAM_STRIDES };
    s->missed = cursor_uleb(c, UINT64_MAX, "the number of accesses missed");
    s->count = cursor_count(c, COLUMNS, "a number of streams that fits the section");
    s->list = read_array(c, s->count, sizeof *s->list);
    if (s->list)
        get_columns(d, c, s->list, s->count);
    if (c->failed)
        s->count = 0;
}

const struct section_kind kind_streams = {
    .type = {41, "streams", 0},
    .within = 24,
    .about = "optional, with 24: strides of the addresses of loads and stores",
    .needed = section_needed,
    .check = section_check,
    .put = section_put,
    .get = section_get,
};
