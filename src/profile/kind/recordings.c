/* The recordings that were merged, and which one a process is of. */
#include <stdlib.h>

#include "profile/kind/kind.h"

static bool needed(const struct profile *p)
{
    return p->recording_count != 0;
}

static bool check(const struct profile *p, struct err *e)
{
    bool good = p->recording_count >= 2;
    for (uint32_t i = 1; i < p->recording_count; i++)
        good &= p->recordings[i].start_realtime_ns >= p->recordings[i - 1].start_realtime_ns;
    for (uint32_t i = 0; i < p->process_count; i++)
        good &= p->processes[i].recording < p->recording_count;
    return good || err_set(e, ERR_INTERNAL,
                           "the profile cannot be written: its %u recordings are not in the order "
                           "of their starts, or not those of its processes",
                           p->recording_count);
}

static void put(struct buf *b, const struct encoder *x)
{
    const struct profile *p = x->p;
    buf_put_uleb(b, p->recording_count);
    for (uint32_t i = 0; i < p->recording_count; i++) {
        buf_put_uleb(b, p->recordings[i].start_realtime_ns -
                            (i ? p->recordings[i - 1].start_realtime_ns : 0));
        buf_put_uleb(b, p->recordings[i].duration_ns);
    }
    for (uint32_t i = 0; i < p->process_count; i++)
        buf_put_uleb(b, p->processes[i].recording);
}

static void get(struct decoder *d, struct cursor *c)
{
    struct profile *p = d->p;
    uint32_t count = (uint32_t)cursor_count(c, 2, "a number of recordings that fits");
    if (count < 2)
        cursor_fail(c, "two recordings at least");
    p->recordings = c->failed ? NULL : read_array(c, count, sizeof *p->recordings);
    if (!p->recordings)
        return;
    p->recording_count = count;
    uint64_t start = 0;
    for (uint32_t i = 0; i < count && !c->failed; i++) {
        start +=
            cursor_uleb(c, UINT64_MAX - start, "when a recording began, after the one before it");
        p->recordings[i].start_realtime_ns = start;
        p->recordings[i].duration_ns = read_u64(c, "how long a recording took");
    }
    for (uint32_t i = 0; i < p->process_count && !c->failed; i++)
        p->processes[i].recording = (uint32_t)cursor_uleb(c, count - 1, "the index of a recording");
}

const struct section_kind kind_recordings = {
    .type = {23, "recordings", 0},
    .about = "only in merged files: the recordings that they were merged of",
    .needed = needed,
    .check = check,
    .put = put,
    .get = get,
};
