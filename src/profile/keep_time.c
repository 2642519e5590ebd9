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

/* What is kept of a thread, by node. */
struct kept {
    uint64_t *self, *left; /* left: weight that no moment has, of all the time */
    uint64_t rest;
};

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
    double carry = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        struct profile_moment m = t->list[i];
        if (m.metric) /* reports weigh by the first */
            continue;
        if (m.node != PROFILE_REST)
            kept->left[m.node] -= m.weight;
        double part = part_of(t, &m, range);
        m.weight = part > 0 ? whole(part, m.weight, &carry) : 0;
        if (!m.weight)
            continue;
        *(m.node == PROFILE_REST ? &kept->rest : &kept->self[m.node]) += m.weight;
        clip(t, &m, range);
        t->list[count++] = m;
    }
    t->count = count;
    profile_timeline_settle(t);
}

/* Divides the rest as the weight is that no moment has. */
static void rest_keep(struct profile_thread *t, struct kept *kept)
{
    double unknown = 0, carry = 0;
    uint64_t given = 0;
    for (uint32_t i = 0; i < t->node_count; i++)
        unknown += (double)kept->left[i];
    for (uint32_t i = 0; kept->rest && i < t->node_count; i++) {
        uint64_t part =
            whole((double)kept->left[i] * ((double)kept->rest / unknown), kept->left[i], &carry);
        kept->self[i] += part;
        given += part;
    }
    /* What was rounded away. */
    uint64_t lack = kept->rest > given ? kept->rest - given : 0;
    struct profile_timeline *line = t->timeline;
    for (uint32_t i = line->count; lack && i-- > 0;) {
        struct profile_moment *m = &line->list[i];
        uint64_t part = m->node != PROFILE_REST ? 0 : m->weight < lack ? m->weight : lack;
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

static bool thread_keep(struct profile_thread *t, const struct range *range)
{
    struct kept kept = {calloc((size_t)t->node_count + 1, sizeof *kept.self),
                        calloc((size_t)t->node_count + 1, sizeof *kept.left), 0};
    uint64_t sum = 0;
    bool ok = kept.self && kept.left;
    for (uint32_t i = 0; ok && i < t->node_count; i++)
        kept.left[i] = t->nodes[i].self;
    if (ok && t->timeline) {
        moments_keep(t->timeline, range, &kept);
        rest_keep(t, &kept);
    }
    for (uint32_t i = 0; ok && i < t->node_count; i++) {
        struct profile_node *n = &t->nodes[i];
        n->self = kept.self[i];
        n->calls = 0; /* nobody knows when those were */
        memset(n->more, 0, sizeof n->more);
        sum += n->self;
    }
    free(kept.self);
    free(kept.left);
    if (!ok)
        return false;
    counters_keep(t, t->weight ? (double)sum / (double)t->weight : 0);
    t->weight = sum;
    return true;
}

bool profile_keep_time(struct profile *p, uint64_t from_ns, uint64_t to_ns, struct err *e)
{
    const struct range range = {from_ns, to_ns, p->duration_ns};
    if (p->counts || p->values)
        return err_set(e, ERR_USAGE,
                       "--time goes with samples: what ran under the engine has no times");
    if (!profile_timeline_width(p))
        return err_set(e, ERR_USAGE,
                       "this profile does not tell when its samples fell: it was recorded "
                       "with --no-timeline or --exact, or by an earlier version");
    if (!profile_timeline_leads(p))
        return err_set(
            e, ERR_USAGE,
            "this profile does not tell when samples of %s were taken: of several events only the "
            "first one's have times; leave out --metric",
            p->metrics[0].name);
    for (uint32_t i = 0; i < p->thread_count; i++) {
        if (!thread_keep(&p->threads[i], &range))
            return err_set(e, ERR_INTERNAL, "cannot choose a time: out of memory");
        free(p->threads[i].others);
        p->threads[i].others = NULL;
    }
    profile_metrics_fini(p, 1);
    p->kernel_cpu_ns = 0; /* not known of a part of the time */
    p->kept_from_ns = from_ns;
    p->duration_ns = to_ns - from_ns;
    return true;
}
