/* The weights of nodes by the metrics after the first. */
#include "base/saturate.h"
#include "profile/kind/kind.h"
#include "profile/shares.h"

static bool needed(const struct profile *p)
{
    return p->metric_count > 1;
}

static void put(struct buf *b, const struct encoder *x)
{
    const struct profile *p = x->p;
    struct buf columns[METRICS_MAX] = {{0}};
    for (uint32_t i = 0; i < p->thread_count; i++)
        for (uint32_t k = 0; k < p->threads[i].node_count; k++)
            for (uint32_t m = 1; m < p->metric_count; m++)
                buf_put_uleb(&columns[m], p->threads[i].nodes[k].more[m - 1]);
    for (uint32_t m = 1; m < p->metric_count; m++) {
        b->failed |= !buf_ok(&columns[m]);
        buf_put(b, columns[m].data, columns[m].size);
        buf_free(&columns[m]);
    }
}

/* Of a thread with its own nodes. */
static void get_own(struct cursor *c, struct profile_thread *t, uint32_t metric)
{
    for (uint32_t k = 0; k < t->node_count && !c->failed; k++)
        t->nodes[k].more[metric - 1] = read_u64(c, "the weight of a node");
}

/* Of one whose nodes were added up. */
static void get_summed(struct decoder *d, struct cursor *c, uint32_t thread, uint32_t metric)
{
    const struct read_summed *from = &d->sum->threads[thread];
    struct profile_node *nodes = d->sum->trees[from->tree].tree.nodes;
    for (uint32_t k = 0; k < from->count && !c->failed; k++) {
        uint64_t weight = read_u64(c, "the weight of a node");
        struct profile_share share = {from->index_of[k], metric, weight};
        uint64_t *to = &nodes[share.node].more[metric - 1];
        if (!weight)
            continue;
        *to = add_saturated(*to, weight);
        if (d->sum->shared && !profile_share_add(&d->p->threads[thread].shares, &share))
            read_no_memory(c);
    }
}

static void get(struct decoder *d, struct cursor *c)
{
    for (uint32_t m = 1; m < d->p->metric_count; m++)
        for (uint32_t i = 0; i < d->p->thread_count; i++)
            if (d->sum && d->sum->threads[i].index_of)
                get_summed(d, c, i, m);
            else
                get_own(c, &d->p->threads[i], m);
}

const struct section_kind kind_weights = {
    .type = {10, "weights", 0},
    .about = "only with several metrics: the weights of nodes by all but the first",
    .needed = needed,
    .put = put,
    .get = get,
};
