#include "profile/sections_streams.h"

#include "profile/frames.h"

/* Columns of plain numbers, in the order of the file. */
#define STREAM_COLUMNS(X)                                                                          \
    X(kind, STREAM_UPDATE, "whether an access loads, stores or both")                              \
    X(bytes, UINT32_MAX, "the bytes of an access")                                                 \
    X(count, UINT64_MAX, "a number of accesses")                                                   \
    X(span, UINT64_MAX, "the span of a stream")                                                    \
    X(runs, UINT64_MAX, "the runs of a stream")                                                    \
    X(same_line, UINT64_MAX, "accesses in the same line")                                          \
    X(others, UINT64_MAX, "other strides")

static bool same_place(const struct profile_stream *a, const struct profile_stream *b)
{
    return a->image == b->image && a->process == b->process;
}

void section_streams_put(struct section_out *out, const struct profile_streams *s)
{
    struct buf *b = &out->raw;
    const struct profile_stream *at = s->list;
    uint32_t n = s->count;
    *out = (struct section_out){.type = SECTION_STREAMS, .optional = true};
    buf_put_uleb(b, s->missed);
    buf_put_uleb(b, n);
    for (uint32_t i = 0, last = 0; i < n; last = at[i++].image + FRAME_IMAGE_FIRST)
        buf_put_uleb(b, at[i].image + FRAME_IMAGE_FIRST - last);
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, at[i].process);
    for (uint32_t i = 0; i < n; i++)
        buf_put_uleb(b, at[i].offset - (i && same_place(&at[i], &at[i - 1]) ? at[i - 1].offset : 0));
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

bool section_streams_good(const struct profile *p, const struct profile_streams *s)
{
    for (uint32_t i = 0; s && i < s->count; i++) {
        const struct profile_stream *at = &s->list[i], *last = i ? at - 1 : at;
        if ((at->image >= p->image_count && at->image != PROFILE_IMAGE_NONE) ||
            at->process >= p->process_count ||
            at->image + FRAME_IMAGE_FIRST < last->image + FRAME_IMAGE_FIRST ||
            (same_place(at, last) && at->offset < last->offset))
            return false;
    }
    return true;
}

static void get_columns(struct decoder *d, struct cursor *c, struct profile_stream *at, uint32_t n)
{
    uint32_t rank = 0;
    for (uint32_t i = 0; i < n && !c->failed; i++)
        at[i].image = decode_image_step(d, c, &rank);
    for (uint32_t i = 0; i < n && !c->failed; i++)
        at[i].process = decode_process_index(d, c);
    for (uint32_t i = 0; i < n && !c->failed; i++) {
        uint64_t base = i && same_place(&at[i], &at[i - 1]) ? at[i - 1].offset : 0;
        at[i].offset = base + cursor_uleb(c, UINT64_MAX - base, "the step to an access");
    }
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

bool section_streams_get(struct decoder *d)
{
    struct cursor c;
    if (!d->file.known[SECTION_STREAMS].offset)
        return true;
    struct profile_streams *s = d->p->counts->streams = profile_streams_new();
    if (!s)
        return err_set(d->e, ERR_INTERNAL, "%s: out of memory", d->file.name);
    if (!decode_open(d, SECTION_STREAMS, &c))
        return false;
    enum { COLUMNS = 10 + 2 * STREAM_STRIDES };
    s->missed = cursor_uleb(&c, UINT64_MAX, "the number of accesses missed");
    s->count = cursor_count(&c, COLUMNS, "a number of streams that fits the section");
    s->list = decode_array(&c, s->count, sizeof *s->list);
    if (s->list)
        get_columns(d, &c, s->list, s->count);
    if (c.failed)
        s->count = 0;
    return decode_close(&c);
}
