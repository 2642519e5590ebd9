/* What was recorded, and how. */
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

/* Recordings that ran side by side, as those of ranks do, become one stretch of time, in which
 * each keeps its place. Of others the durations are added up, and the later one begins where the
 * earlier one ends: the time between them is nobody's. */
static void merge_times(struct merger *m)
{
    struct profile *into = m->into;
    uint64_t a = into->start_realtime_ns, b = m->from->start_realtime_ns;
    uint64_t start = a < b ? a : b, after = (a < b ? b : a) - start;
    uint64_t first = a < b ? into->duration_ns : m->from->duration_ns;
    uint64_t second = a < b ? m->from->duration_ns : into->duration_ns;
    into->start_realtime_ns = start;
    into->duration_ns = first + second;
    if (after >= first) {
        *(a < b ? &m->from_later : &m->into_later) = first;
        return;
    }
    into->duration_ns = after + second > first ? after + second : first;
    m->into_later = a - start;
    m->from_later = b - start;
}

static bool merge(struct merger *m)
{
    for (unsigned i = 0; i < DROP_COUNT; i++)
        m->into->drops[i] += m->from->drops[i];
    m->into->recovered |= m->from->recovered;
    merge_times(m);
    return profile_note(m->into, m->from->notes);
}

const struct section_kind kind_meta = {
    .type = {1, "meta", SECTION_REQUIRED},
    .about = "what was recorded, and how",
    .put = put,
    .get = get,
    .merge = merge,
};
