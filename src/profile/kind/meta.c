/* What was recorded, and how. */
#include <stdlib.h>

#include "profile/kind/kind.h"
#include "profile/notes.h"

static void put(struct buf *b, const struct encoder *x)
{
    const struct profile *p = x->p;
    buf_put_string(b, p->command);
    buf_put_uleb(b, p->budget_ppm);
    buf_put_uleb(b, p->delivery_ns);
    buf_put_uleb(b, p->start_realtime_ns);
    buf_put_uleb(b, p->duration_ns);
    buf_put_string(b, p->kernel);
    buf_put_string(b, p->cpu);
    buf_put_uleb(b, p->cpus);
    buf_put_uleb(b, p->recovered);
    buf_put_sleb(b, p->exit_status);
    buf_put_string(b, p->notes);
    write_counts(b, p->drops, 0, DROP_COUNT);
}

static void get(struct decoder *d, struct cursor *c)
{
    struct profile *p = d->p;
    read_string(c, &p->command, "the command");
    p->budget_ppm = read_u32(c, "the budget");
    p->delivery_ns = read_u32(c, "the cost of a signal");
    p->start_realtime_ns = read_u64(c, "the time of the start");
    p->duration_ns = read_u64(c, "the duration");
    read_string(c, &p->kernel, "the kernel's release");
    read_string(c, &p->cpu, "the processor's name");
    p->cpus = read_u32(c, "the number of processors");
    p->recovered = read_u32(c, "whether it was recovered");
    p->exit_status = read_i32(c, "the exit status");
    read_string(c, &p->notes, "the notes");
    read_counts(c, &d->drops, p->drops);
}

/* All that follows is moved to the common axis (profile/recordings.h). */
static bool merge_times(struct merger *m)
{
    struct profile *into = m->into;
    if (!recordings_merge(into, m->from, &m->recordings))
        return false;
    free(into->recordings);
    into->recordings = m->recordings.list;
    into->recording_count = m->recordings.count;
    m->recordings.list = NULL;
    into->start_realtime_ns = into->recordings[0].start_realtime_ns;
    into->duration_ns = m->recordings.axis.duration_ns;
    return true;
}

static bool merge(struct merger *m)
{
    for (unsigned i = 0; i < DROP_COUNT; i++)
        m->into->drops[i] += m->from->drops[i];
    m->into->recovered |= m->from->recovered;
    return merge_times(m) && profile_note(m->into, m->from->notes);
}

const struct section_kind kind_meta = {
    .type = {1, "meta", SECTION_REQUIRED},
    .about = "what was recorded, and how",
    .put = put,
    .get = get,
    .merge = merge,
};
