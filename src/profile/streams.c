#include "profile/streams.h"

#include <stdlib.h>

#include "base/saturate.h"
#include "profile/frames.h"
#include "profile/profile.h"

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

bool profile_streams_append(struct profile_streams *s, const struct profile_streams *from,
                            const uint32_t *image_of, uint32_t first_process)
{
    for (uint32_t i = 0; i < from->count; i++) {
        struct profile_stream stream = from->list[i];
        if (stream.image != PROFILE_IMAGE_NONE)
            stream.image = image_of[stream.image];
        stream.process += first_process;
        if (!profile_streams_add(s, &stream))
            return false;
    }
    s->missed = add_saturated(s->missed, from->missed);
    return true;
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

void profile_streams_settle(struct profile_streams *s)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->count; i++)
        if (s->list[i].image != PROFILE_IMAGE_NONE)
            s->list[i].process = 0;
    if (s->count)
        qsort(s->list, s->count, sizeof *s->list, compare_streams);
    for (uint32_t i = 0; i < s->count; i++) {
        struct profile_stream *last = kept ? &s->list[kept - 1] : NULL;
        if (last && compare_streams(last, &s->list[i]) == 0)
            merge_stream(last, &s->list[i]);
        else
            s->list[kept++] = s->list[i];
    }
    s->count = kept;
}

const char *profile_stream_kind(uint32_t kind)
{
    return kind == STREAM_LOAD ? "load" : kind == STREAM_STORE ? "store" : "update";
}
