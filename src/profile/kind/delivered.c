/* The cost of delivering samples. */
#include "profile/kind/kind.h"

static bool needed(const struct profile *p)
{
    for (uint32_t i = 0; i < p->thread_count; i++)
        if (p->threads[i].deliveries || p->threads[i].delivered_ns || p->threads[i].switches ||
            p->threads[i].switched_ns)
            return true;
    return false;
}

static void put(struct buf *b, const struct encoder *x)
{
    const struct profile *p = x->p;
    for (uint32_t i = 0; i < p->thread_count; i++) {
        buf_put_uleb(b, p->threads[i].delivered_ns);
        buf_put_uleb(b, p->threads[i].switches);
        buf_put_uleb(b, p->threads[i].switched_ns);
    }
}

static void get(struct decoder *d, struct cursor *c)
{
    struct profile *p = d->p;
    for (uint32_t i = 0; i < p->thread_count; i++) {
        p->threads[i].delivered_ns = read_u64(c, "what a thread's signals have cost");
        p->threads[i].switches = read_u64(c, "a number of switches");
        p->threads[i].switched_ns = read_u64(c, "what switches have cost");
    }
}

const struct section_kind kind_delivered = {
    .type = {21, "cost of signals", 0},
    .about = "optional: the cost of delivering samples",
    .needed = needed,
    .put = put,
    .get = get,
};
