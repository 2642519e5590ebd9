#include "profile/timeline.h"

#include <stdlib.h>
#include <string.h>

bool profile_timeline_add(struct profile_timeline **t, const struct profile_moment *moment)
{
    struct profile_timeline *at = *t;
    if (!at || at->count == at->capacity) {
        uint32_t capacity = at && at->capacity ? at->capacity * 2 : 16;
        if (at && at->capacity > UINT32_MAX / 4)
            return false;
        struct profile_timeline *grown = realloc(at, sizeof *at + capacity * sizeof *at->list);
        if (!grown)
            return false;
        if (!at)
            *grown = (struct profile_timeline){0};
        grown->capacity = capacity;
        *t = at = grown;
    }
    at->list[at->count++] = *moment;
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct profile_moment *x = a, *y = b;
    if (x->bin != y->bin)
        return x->bin < y->bin ? -1 : 1;
    if (x->metric != y->metric)
        return x->metric < y->metric ? -1 : 1;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return (x->span > y->span) - (x->span < y->span);
}

void profile_timeline_settle(struct profile_timeline *t)
{
    uint32_t kept = 0;
    if (!t)
        return;
    qsort(t->list, t->count, sizeof *t->list, compare);
    for (uint32_t i = 0; i < t->count; i++)
        if (kept && compare(&t->list[kept - 1], &t->list[i]) == 0)
            t->list[kept - 1].weight += t->list[i].weight;
        else
            t->list[kept++] = t->list[i];
    t->count = kept;
}

bool profile_timeline_join(struct profile_timeline **to, const struct profile_timeline *from,
                           const uint32_t *node_of)
{
    for (uint32_t i = 0; i < from->count; i++) {
        struct profile_moment m = from->list[i];
        uint64_t start = (*to)->start_ns, later = from->start_ns - start;
        uint64_t last = later + ((uint64_t)m.bin << from->shift);
        uint64_t first = later + ((uint64_t)(m.bin - m.span) << from->shift);
        m.bin = (uint32_t)(last >> (*to)->shift);
        m.span = m.bin - (uint32_t)(first >> (*to)->shift);
        m.node = m.node == PROFILE_REST ? m.node : node_of[m.node];
        if (!profile_timeline_add(to, &m))
            return false;
    }
    return true;
}

/* ---- is it as it should be? ---- */

static uint64_t weight_of(const struct profile_node *n, uint32_t metric)
{
    return metric ? n->more[metric - 1] : n->self;
}

/* Subtracts. False: there is less. */
static bool take(uint64_t *from, uint64_t weight)
{
    if (weight > *from)
        return false;
    *from -= weight;
    return true;
}

/* left: of each node, its weight by this metric. */
static bool weights_good(const struct profile_thread *t, uint32_t metric, uint64_t *left)
{
    const struct profile_timeline *line = t->timeline;
    uint64_t rest = 0, sum = 0;
    for (uint32_t i = 0; i < t->node_count; i++)
        left[i] = weight_of(&t->nodes[i], metric);
    for (uint32_t i = 0; i < line->count; i++) {
        const struct profile_moment *m = &line->list[i];
        if (m->metric != metric)
            continue;
        if (m->node != PROFILE_REST && !take(&left[m->node], m->weight))
            return false;
        if (m->node == PROFILE_REST && __builtin_add_overflow(rest, m->weight, &rest))
            return false;
    }
    /* A damaged tree's weights may be more than a number can hold. */
    for (uint32_t i = 0; i < t->node_count && sum < rest; i++)
        if (__builtin_add_overflow(sum, left[i], &sum))
            return true;
    return rest <= sum;
}

static bool moment_good(const struct profile *p, const struct profile_timeline *t, uint32_t nodes,
                        uint32_t i)
{
    const struct profile_moment *m = &t->list[i];
    return m->span <= m->bin && m->weight && m->metric < p->metric_count &&
           (m->node < nodes || m->node == PROFILE_REST) &&
           (uint64_t)m->bin + 1 <= UINT64_C(1) << (62 - t->shift) &&
           (!i || compare(m - 1, m) < 0);
}
_Static_assert(TIMELINE_SHIFT_MAX < 62, "a bin is that wide, and there is one");

bool profile_timeline_formed(const struct profile *p, const struct profile_timeline *t,
                             uint32_t nodes, const char **what)
{
    *what = "bins of 2^0 to 2^60 nanoseconds that begin within 2^62";
    if (t->shift > TIMELINE_SHIFT_MAX || t->start_ns > UINT64_C(1) << 62)
        return false;
    *what = "moments in order, of nodes and metrics that there are, that begin in no bin before 0";
    for (uint32_t i = 0; i < t->count; i++)
        if (!moment_good(p, t, nodes, i))
            return false;
    return true;
}

bool profile_timeline_good(const struct profile *p, const struct profile_thread *t,
                           const char **what)
{
    const struct profile_timeline *line = t->timeline;
    if (!profile_timeline_formed(p, line, t->node_count, what))
        return false;
    *what = "moments that have no more weight than their nodes";
    uint64_t *left = calloc((size_t)t->node_count + 1, sizeof *left);
    bool good = left != NULL, has[METRICS_MAX] = {false};
    for (uint32_t i = 0; i < line->count; i++)
        has[line->list[i].metric] = true;
    for (uint32_t m = 0; good && m < p->metric_count; m++)
        good = !has[m] || weights_good(t, m, left);
    free(left);
    return good;
}

uint64_t profile_timeline_width(const struct profile *p)
{
    uint64_t widest = 0;
    for (uint32_t i = 0; i < p->thread_count; i++) {
        const struct profile_timeline *t = p->threads[i].timeline;
        if (t && UINT64_C(1) << t->shift > widest)
            widest = UINT64_C(1) << t->shift;
    }
    return widest;
}

bool profile_timeline_has(const struct profile_timeline *t, uint32_t metric)
{
    for (uint32_t i = 0; t && i < t->count; i++)
        if (t->list[i].metric == metric)
            return true;
    return false;
}

bool profile_timeline_knows(const struct profile *p, uint32_t metric)
{
    bool weight = false;
    if (metric && profile_trigger_of(p, metric) == profile_trigger_of(p, metric - 1))
        return false;
    for (uint32_t i = 0; i < p->thread_count; i++) {
        const struct profile_thread *t = &p->threads[i];
        if (profile_timeline_has(t->timeline, metric))
            return true;
        for (uint32_t k = 0; k < t->node_count; k++)
            weight |= weight_of(&t->nodes[k], metric) != 0;
    }
    return !weight;
}

void profile_timelines_renumber(struct profile *p, const uint32_t *to)
{
    for (uint32_t i = 0; i < p->thread_count; i++) {
        struct profile_timeline *t = p->threads[i].timeline;
        for (uint32_t k = 0; t && k < t->count; k++)
            t->list[k].metric = to[t->list[k].metric];
        if (t)
            profile_timeline_settle(t);
    }
}
