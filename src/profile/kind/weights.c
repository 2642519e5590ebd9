/* The weights of nodes by the metrics after the first. */
#include "profile/kind/kind.h"

static bool needed(const struct profile *p)
{
    return p->metric_count > 1;
}

static void put(struct buf *b, const struct encoder *x)
{
    const struct profile *p = x->p;
    for (uint32_t m = 1; m < p->metric_count; m++)
        for (uint32_t i = 0; i < p->thread_count; i++)
            for (uint32_t k = 0; k < p->threads[i].node_count; k++)
                buf_put_uleb(b, p->threads[i].nodes[k].more[m - 1]);
}

static void get(struct decoder *d, struct cursor *c)
{
    const struct profile *p = d->p;
    for (uint32_t m = 1; m < p->metric_count; m++)
        for (uint32_t i = 0; i < p->thread_count; i++)
            for (uint32_t k = 0; k < p->threads[i].node_count && !c->failed; k++)
                p->threads[i].nodes[k].more[m - 1] = read_u64(c, "the weight of a node");
}

const struct section_kind kind_weights = {
    .type = {10, "weights", 0},
    .about = "only with several metrics: the weights of nodes by all but the first",
    .needed = needed,
    .put = put,
    .get = get,
};
