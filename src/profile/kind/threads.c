/* The counters of each thread. */
#include "profile/kind/kind.h"

static void put(struct buf *b, const struct encoder *x)
{
    const struct profile *p = x->p;
    buf_put_uleb(b, p->thread_count);
    for (uint32_t i = 0; i < p->thread_count; i++) {
        const struct profile_thread *t = &p->threads[i];
        buf_put_uleb(b, t->process);
        buf_put_sleb(b, t->tid);
        buf_put_string(b, t->name);
        buf_put_uleb(b, t->start_ns);
        buf_put_uleb(b, t->end_ns);
        buf_put_uleb(b, t->cpu_ns);
        buf_put_uleb(b, t->taken);
        buf_put_uleb(b, t->weight);
        buf_put_uleb(b, t->weight_squares);
        buf_put_uleb(b, t->guessed);
        write_counts(b, t->truncated, 1, TRUNC_COUNT);
        write_counts(b, t->drops, 0, DROP_COUNT);
        buf_put_uleb(b, t->cost_ns);
        buf_put_uleb(b, t->deliveries);
        buf_put_uleb(b, t->node_count);
    }
}

static bool check(const struct profile *p, struct err *e)
{
    for (uint32_t i = 0; i < p->thread_count; i++)
        if (p->threads[i].process >= p->process_count || p->threads[i].phase > p->phase_count)
            return err_set(e, ERR_INTERNAL,
                           "the profile cannot be written: thread %u has no process "
                           "or phase",
                           i);
    return true;
}

/* The nodes are there once the trees have been read. */
static void get(struct decoder *d, struct cursor *c)
{
    struct profile *p = d->p;
    uint32_t count = cursor_count(c, 13 + d->drops.count + d->truncations.count,
                                  "a number of threads that fits the section");
    p->threads = read_array(c, count, sizeof *p->threads);
    if (count && !p->process_count)
        cursor_fail(c, "no thread, as there is no process");
    while (p->thread_count < count && !c->failed) {
        struct profile_thread *t = &p->threads[p->thread_count++];
        t->process =
            (uint32_t)cursor_uleb(c, (uint64_t)p->process_count - 1, "the index of a process");
        t->tid = read_i32(c, "a thread id");
        t->name = cursor_string(c, "the name of a thread");
        t->start_ns = read_u64(c, "when a thread began");
        t->end_ns = read_u64(c, "when a thread ended");
        t->cpu_ns = read_u64(c, "a thread's CPU time");
        t->taken = read_u64(c, "the number of samples taken");
        t->weight = read_u64(c, "the weight of the samples");
        t->weight_squares = read_u64(c, "the sum of the squared weights");
        t->guessed = read_u64(c, "the number of guessed samples");
        read_counts(c, &d->truncations, t->truncated);
        read_counts(c, &d->drops, t->drops);
        t->cost_ns = read_u64(c, "the cost of the samples");
        t->deliveries = read_u64(c, "the number of signals");
        t->node_count = (uint32_t)cursor_uleb(c, UINT32_MAX - 2, "the number of a tree's nodes");
    }
}

/* With all that other sections say of a thread. */
static bool merge(struct merger *m)
{
    struct profile *into = m->into, *from = m->from;
    struct profile_thread *threads =
        extend_array(into->threads, into->thread_count, from->thread_count, sizeof *threads);
    if (!threads)
        return false;
    into->threads = threads;
    for (uint32_t i = 0; i < from->thread_count; i++) {
        struct profile_thread *t = &threads[into->thread_count++];
        *t = from->threads[i];
        from->threads[i] = (struct profile_thread){0};
        t->process += m->first_process;
    }
    for (uint32_t i = 0; i < into->thread_count; i++) {
        uint64_t later = m->recordings.later_ns[threads[i].process];
        threads[i].start_ns += later;
        threads[i].end_ns += threads[i].end_ns ? later : 0;
    }
    return true;
}

const struct section_kind kind_threads = {
    .type = {6, "threads", SECTION_REQUIRED},
    .about = "counters of each thread",
    .check = check,
    .put = put,
    .get = get,
    .merge = merge,
};
