/* Strides of the addresses of loads and stores. */
#include "profile/kind/kind.h"

PLACE_FIRST(struct profile_stream);

static bool needed(const struct profile *p)
{
    return p->counts && p->counts->streams;
}

/* Columns of plain numbers, in the order of the file. */
#define STREAM_COLUMNS(X)                                                                          \
    X(kind, STREAM_UPDATE, "whether an access loads, stores or both")                              \
    X(bytes, UINT32_MAX, "the bytes of an access")                                                 \
    X(count, UINT64_MAX, "a number of accesses")                                                   \
    X(span, UINT64_MAX, "the span of a stream")                                                    \
    X(runs, UINT64_MAX, "the runs of a stream")                                                    \
    X(same_line, UINT64_MAX, "accesses in the same line")                                          \
    X(others, UINT64_MAX, "other strides")

static void put(struct buf *b, const struct encoder *x)
{
    const struct profile_streams *s = x->p->counts->streams;
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

static bool check(const struct profile *p, struct err *e)
{
    const struct profile_streams *s = p->counts->streams;
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

static void get(struct decoder *d, struct cursor *c)
{
    struct profile_streams *s = d->p->counts->streams = profile_streams_new();
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
    .needed = needed,
    .check = check,
    .put = put,
    .get = get,
};
