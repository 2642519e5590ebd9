/* When samples fell. */
#include <stdlib.h>

#include "profile/kind/kind.h"
#include "profile/timeline.h"

enum { COLUMNS = 5 };

static bool needed(const struct profile *p)
{
    return profile_timeline_width(p) != 0;
}

/* 0 is the rest. */
static uint32_t node_code(const struct profile_moment *m)
{
    return m->node + 1;
}
_Static_assert(PROFILE_REST + 1 == 0, "the rest is node -1");

static void put_moment(struct buf *b, unsigned column, const struct profile_moment *m,
                       const struct profile_moment *before)
{
    switch (column) {
    case 0: buf_put_uleb(b, m->bin - (before ? before->bin : 0)); break;
    case 1: buf_put_uleb(b, m->span); break;
    case 2:
        buf_put_sleb(b, (int64_t)node_code(m) - (before ? (int64_t)node_code(before) : 0));
        break;
    case 3: buf_put_uleb(b, m->metric); break;
    default: buf_put_uleb(b, m->weight); break;
    }
}

static void put(struct buf *b, const struct encoder *x)
{
    const struct profile *p = x->p;
    for (uint32_t i = 0; i < p->thread_count; i++) {
        const struct profile_timeline *t = p->threads[i].timeline;
        buf_put_uleb(b, t ? t->count : 0);
        if (!t || !t->count)
            continue;
        buf_put_uleb(b, t->start_ns);
        buf_put_uleb(b, t->shift);
    }
    for (unsigned column = 0; column < COLUMNS; column++)
        for (uint32_t i = 0; i < p->thread_count; i++) {
            const struct profile_timeline *t = p->threads[i].timeline;
            for (uint32_t k = 0; t && k < t->count; k++)
                put_moment(b, column, &t->list[k], k ? &t->list[k - 1] : NULL);
        }
}

static bool check(const struct profile *p, struct err *e)
{
    const char *what;
    for (uint32_t i = 0; i < p->thread_count; i++)
        if (p->threads[i].timeline && !profile_timeline_good(p, &p->threads[i], &what))
            return err_set(
                e, ERR_INTERNAL,
                "the profile cannot be written: the timeline of thread %u is not one of %s", i,
                what);
    return true;
}

/* nodes: how many the thread has. */
static void get_moment(struct cursor *c, unsigned column, uint32_t nodes,
                       struct profile_moment *m, const struct profile_moment *before)
{
    int64_t code = before ? (int64_t)node_code(before) : 0;
    switch (column) {
    case 0:
        m->bin = before ? before->bin : 0;
        m->bin += (uint32_t)cursor_uleb(c, UINT32_MAX - m->bin, "the step to a bin");
        break;
    case 1: m->span = read_u32(c, "how many bins more"); break;
    case 2: {
        int64_t step = cursor_sleb(c, "the step to a node");
        if (step < -code || step > (int64_t)nodes - code)
            cursor_fail(c, "the step to a node of the thread, or to its rest");
        else
            m->node = (uint32_t)(code + step) - 1;
        break;
    }
    case 3: m->metric = read_u32(c, "the index of a metric"); break;
    default: m->weight = read_u64(c, "the weight of a moment"); break;
    }
}

/* Every moment takes a byte of every column: so many of all threads are checked before they are
 * believed. */
static void get_heads(struct decoder *d, struct cursor *c)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < d->p->thread_count && !c->failed; i++) {
        uint64_t most = (c->size - c->at) / COLUMNS;
        uint64_t count =
            cursor_uleb(c, most > all ? most - all : 0, "a number of moments that fits");
        if (!count || c->failed)
            continue;
        all += count;
        struct profile_timeline *t = calloc(1, sizeof *t + count * sizeof *t->list);
        if (!t) {
            read_no_memory(c);
            return;
        }
        t->count = t->capacity = (uint32_t)count;
        t->start_ns = read_u64(c, "where the first bin begins");
        t->shift = (uint32_t)cursor_uleb(c, TIMELINE_SHIFT_MAX, "the width of bins");
        d->p->threads[i].timeline = t;
    }
}

/* As stored: where trees are summed, more than it has by now. */
static uint32_t nodes_of(const struct decoder *d, uint32_t thread)
{
    const struct read_summed *summed = d->sum ? &d->sum->threads[thread] : NULL;
    return summed && summed->index_of ? summed->count : d->p->threads[thread].node_count;
}

/* The weights of nodes that are in a sum are not known by thread. */
static void check_read(struct decoder *d, struct cursor *c, uint32_t thread)
{
    struct profile_thread *t = &d->p->threads[thread];
    const char *what;
    bool good = d->sum ? profile_timeline_formed(d->p, t->timeline, nodes_of(d, thread), &what)
                       : profile_timeline_good(d->p, t, &what);
    if (!good)
        cursor_fail(c, what);
}

static void get(struct decoder *d, struct cursor *c)
{
    struct profile *p = d->p;
    get_heads(d, c);
    for (unsigned column = 0; column < COLUMNS && !c->failed; column++)
        for (uint32_t i = 0; i < p->thread_count; i++) {
            struct profile_timeline *t = p->threads[i].timeline;
            for (uint32_t k = 0; t && k < t->count && !c->failed; k++)
                get_moment(c, column, nodes_of(d, i), &t->list[k], k ? &t->list[k - 1] : NULL);
        }
    for (uint32_t i = 0; i < p->thread_count && !c->failed; i++)
        if (p->threads[i].timeline)
            check_read(d, c, i);
}

/* Threads are not added up, so each keeps its bins; only where they begin is another time. */
static bool merge(struct merger *m)
{
    for (uint32_t i = 0; i < m->into->thread_count; i++) {
        struct profile_thread *t = &m->into->threads[i];
        if (t->timeline)
            t->timeline->start_ns += m->recordings.later_ns[t->process];
    }
    return true;
}

const struct section_kind kind_timeline = {
    .type = {22, "timeline", 0},
    .of_nodes = true,
    .about = "optional: when samples fell",
    .needed = needed,
    .check = check,
    .put = put,
    .get = get,
    .merge = merge,
};
