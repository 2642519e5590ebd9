/* The weights of nodes by the metrics after the first. */
#include "base/saturate.h"
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
        for (uint32_t i = 0; i < p->thread_count; i++) {
            const struct read_summed *sum =
                d->sum && d->sum->threads[i].index_of ? &d->sum->threads[i] : NULL;
            struct profile_node *nodes =
                sum ? d->sum->trees[sum->tree].tree.nodes : p->threads[i].nodes;
            uint32_t count = sum ? sum->count : p->threads[i].node_count;
            for (uint32_t k = 0; k < count && !c->failed; k++) {
                uint64_t *to = &nodes[sum ? sum->index_of[k] : k].more[m - 1];
                *to = add_saturated(*to, read_u64(c, "the weight of a node"));
            }
        }
}

const struct section_kind kind_weights = {
    .type = {10, "weights", 0},
    .about = "only with several metrics: the weights of nodes by all but the first",
    .needed = needed,
    .put = put,
    .get = get,
};
