/* A part of the time that a profile is of. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/timeline.h"

struct range {
    uint64_t from_ns, to_ns;
    uint64_t end_ns; /* of the recording: no sample fell later in a bin */
};

/* How much of a moment lies in the range. */
static double part_of(const struct profile_timeline *t, const struct profile_moment *m,
                      const struct range *range)
{
    struct profile_stretch s = profile_moment_stretch(t, m);
    uint64_t from_ns = range->from_ns, to_ns = range->to_ns;
    if (s.to_ns > range->end_ns && s.from_ns < range->end_ns)
        s.to_ns = range->end_ns;
    uint64_t from = s.from_ns > from_ns ? s.from_ns : from_ns;
    uint64_t to = s.to_ns < to_ns ? s.to_ns : to_ns;
    if (from >= to)
        return 0;
    return (double)m->weight * ((double)(to - from) / (double)(s.to_ns - s.from_ns));
}

/* A whole number for an exact one, at most `most`. What it differs by is added to the next one, so
 * that sums stay what they are. */
static uint64_t whole(double exact, uint64_t most, double *carry)
{
    double wanted = exact + *carry;
    uint64_t n = wanted >= 0.5 ? (uint64_t)llround(wanted) : 0;
    n = n < most ? n : most;
    *carry = wanted - (double)n;
    return n;
}

/* What is kept of a thread, by metric and node. */
struct kept {
    uint64_t *self, *left; /* left: weight that no moment has, of all the time */
    uint64_t rest[METRICS_MAX];
    uint32_t nodes, metrics;
};

static size_t place(const struct kept *kept, uint32_t metric, uint32_t node)
{
    return (size_t)metric * kept->nodes + node;
}

static uint64_t *weight_at(struct profile_node *n, uint32_t metric)
{
    return metric ? &n->more[metric - 1] : &n->self;
}

/* The bins that the moment has in the range, where it has some. */
static void clip(const struct profile_timeline *t, struct profile_moment *m,
                 const struct range *range)
{
    uint64_t start = t->start_ns, first = m->bin - m->span, last = m->bin;
    uint64_t low = range->from_ns > start ? (range->from_ns - start) >> t->shift : 0;
    uint64_t high = (range->to_ns - 1 - start) >> t->shift;
    first = first > low ? first : low;
    last = last < high ? last : high;
    m->bin = (uint32_t)last;
    m->span = (uint32_t)(last - first);
}

static void moments_keep(struct profile_timeline *t, const struct range *range, struct kept *kept)
{
    uint32_t count = 0;
    double carry[METRICS_MAX] = {0};
    for (uint32_t i = 0; i < t->count; i++) {
        struct profile_moment m = t->list[i];
        bool rest = m.node == PROFILE_REST;
        if (!rest)
            kept->left[place(kept, m.metric, m.node)] -= m.weight;
        double part = part_of(t, &m, range);
        m.weight = part > 0 ? whole(part, m.weight, &carry[m.metric]) : 0;
        if (!m.weight)
            continue;
        *(rest ? &kept->rest[m.metric] : &kept->self[place(kept, m.metric, m.node)]) += m.weight;
        clip(t, &m, range);
        t->list[count++] = m;
    }
    t->count = count;
    profile_timeline_settle(t);
}

/* Divides the rest as the weight is that no moment has. */
static void rest_keep(struct profile_thread *t, struct kept *kept, uint32_t metric)
{
    double unknown = 0, carry = 0, rest = (double)kept->rest[metric];
    uint64_t given = 0, *left = &kept->left[place(kept, metric, 0)];
    for (uint32_t i = 0; i < t->node_count; i++)
        unknown += (double)left[i];
    for (uint32_t i = 0; kept->rest[metric] && i < t->node_count; i++) {
        uint64_t part = whole((double)left[i] * (rest / unknown), left[i], &carry);
        kept->self[place(kept, metric, i)] += part;
        given += part;
    }
    /* What was rounded away. */
    uint64_t lack = kept->rest[metric] > given ? kept->rest[metric] - given : 0;
    struct profile_timeline *line = t->timeline;
    for (uint32_t i = line->count; lack && i-- > 0;) {
        struct profile_moment *m = &line->list[i];
        bool is_rest = m->node == PROFILE_REST && m->metric == metric;
        uint64_t part = !is_rest ? 0 : m->weight < lack ? m->weight : lack;
        m->weight -= part;
        lack -= part;
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < line->count; i++)
        if (line->list[i].weight)
            line->list[count++] = line->list[i];
    line->count = count;
}

static void scale(uint64_t *n, double share)
{
    *n = (uint64_t)llround((double)*n * share);
}

static void counters_keep(struct profile_thread *t, double share)
{
    uint64_t *counters[] = {&t->taken, &t->weight_squares, &t->guessed, &t->cpu_ns,
                            &t->cost_ns, &t->deliveries, &t->delivered_ns, &t->switches,
                            &t->switched_ns};
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        scale(counters[i], share);
    for (unsigned i = 0; i < TRUNC_COUNT; i++)
        scale(&t->truncated[i], share);
    for (unsigned i = 0; i < DROP_COUNT; i++)
        scale(&t->drops[i], share);
}

static double share_of(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

/* Of a trigger after the first. */
static void sampled_keep(struct profile_sampled *s, uint64_t weight)
{
    double share = share_of(weight, s->weight);
    scale(&s->taken, share);
    scale(&s->weight_squares, share);
    scale(&s->guessed, share);
    for (unsigned i = 0; i < TRUNC_COUNT; i++)
        scale(&s->truncated[i], share);
    for (unsigned i = 0; i < DROP_COUNT; i++)
        scale(&s->drops[i], share);
    s->weight = weight;
}

/* Metric m is of trigger m. */
static void weights_keep(struct profile_thread *t, const struct kept *kept)
{
    uint64_t sum[METRICS_MAX] = {0};
    for (uint32_t i = 0; i < t->node_count; i++) {
        struct profile_node *n = &t->nodes[i];
        n->calls = 0; /* nobody knows when those were */
        memset(n->more, 0, sizeof n->more);
        for (uint32_t m = 0; m < kept->metrics; m++) {
            *weight_at(n, m) = kept->self[place(kept, m, i)];
            sum[m] += *weight_at(n, m);
        }
    }
    counters_keep(t, share_of(sum[0], t->weight));
    t->weight = sum[0];
    for (uint32_t m = 1; t->others && m < kept->metrics; m++)
        sampled_keep(&t->others[m - 1], sum[m]);
}

static bool thread_keep(struct profile_thread *t, const struct range *range, uint32_t metrics)
{
    size_t cells = (size_t)t->node_count * metrics + 1;
    struct kept kept = {.self = calloc(cells, sizeof *kept.self),
                        .left = calloc(cells, sizeof *kept.left),
                        .nodes = t->node_count,
                        .metrics = metrics};
    bool ok = kept.self && kept.left;
    for (uint32_t m = 0; ok && m < metrics; m++)
        for (uint32_t i = 0; i < t->node_count; i++)
            kept.left[place(&kept, m, i)] = *weight_at(&t->nodes[i], m);
    if (ok && t->timeline) {
        moments_keep(t->timeline, range, &kept);
        for (uint32_t m = 0; m < metrics; m++)
            rest_keep(t, &kept, m);
    }
    if (ok)
        weights_keep(t, &kept);
    free(kept.self);
    free(kept.left);
    return ok;
}

static void moments_drop(struct profile_timeline *t, const bool *known)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < t->count; i++)
        if (known[t->list[i].metric])
            t->list[count++] = t->list[i];
    t->count = count;
}

/* Those that are left are the first of their triggers. */
static void metrics_keep(struct profile *p)
{
    bool known[METRICS_MAX] = {false};
    for (uint32_t m = 0; m < p->metric_count; m++)
        known[m] = profile_timeline_knows(p, m);
    for (uint32_t i = 0; i < p->thread_count; i++)
        if (p->threads[i].timeline)
            moments_drop(p->threads[i].timeline, known);
    profile_metrics_keep(p, known);
}

bool profile_keep_time(struct profile *p, uint64_t from_ns, uint64_t to_ns, struct err *e)
{
    const struct range range = {from_ns, to_ns, p->duration_ns};
    if (observed_code(p) || observed_values(p))
        return err_set(e, ERR_USAGE,
                       "--time goes with samples: what ran under the engine has no times");
    if (!profile_timeline_width(p))
        return err_set(e, ERR_USAGE,
                       "this profile does not tell when its samples fell: it was recorded "
                       "with --no-timeline or --exact, or by an earlier version");
    if (!profile_timeline_knows(p, 0))
        return err_set(e, ERR_USAGE,
                       "this profile does not tell when samples of %s were taken: choose an event "
                       "whose samples have times with --metric",
                       p->metrics[0].name);
    metrics_keep(p);
    for (uint32_t i = 0; i < p->thread_count; i++)
        if (!thread_keep(&p->threads[i], &range, p->metric_count))
            return err_set(e, ERR_INTERNAL, "cannot choose a time: out of memory");
    p->kernel_cpu_ns = 0; /* not known of a part of the time */
    p->kept_from_ns = from_ns;
    p->duration_ns = to_ns - from_ns;
    return true;
}
