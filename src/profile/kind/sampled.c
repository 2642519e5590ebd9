/* How the triggers after the first were sampled in each thread. */
#include <stdlib.h>

#include "profile/kind/kind.h"

static bool needed(const struct profile *p)
{
    bool any = false;
    for (uint32_t i = 0; !any && i < p->thread_count; i++)
        any = p->threads[i].others != NULL;
    return any && profile_triggers(p) > 1;
}

static void put(struct buf *b, const struct encoder *x)
{
    static const struct profile_sampled none;
    const struct profile *p = x->p;
    for (uint32_t k = 1; k < profile_triggers(p); k++)
        for (uint32_t i = 0; i < p->thread_count; i++) {
            const struct profile_sampled *others = p->threads[i].others;
            const struct profile_sampled *s = others ? &others[k - 1] : &none;
            buf_put_uleb(b, s->taken);
            buf_put_uleb(b, s->weight);
            buf_put_uleb(b, s->weight_squares);
            buf_put_uleb(b, s->guessed);
            write_counts(b, s->truncated, 1, TRUNC_COUNT);
            write_counts(b, s->drops, 0, DROP_COUNT);
        }
}

static void get_one(struct decoder *d, struct cursor *c, struct profile_sampled *s)
{
    s->taken = read_u64(c, "the number of samples taken");
    s->weight = read_u64(c, "the weight of the samples");
    s->weight_squares = read_u64(c, "the sum of the squared weights");
    s->guessed = read_u64(c, "the number of guessed samples");
    read_counts(c, &d->truncations, s->truncated);
    read_counts(c, &d->drops, s->drops);
}

static void get(struct decoder *d, struct cursor *c)
{
    struct profile *p = d->p;
    uint32_t others = profile_triggers(p) - 1;
    for (uint32_t k = 0; k < others; k++)
        for (uint32_t i = 0; i < p->thread_count && !c->failed; i++) {
            struct profile_thread *t = &p->threads[i];
            if (!t->others && !(t->others = profile_sampled_new(p)))
                read_no_memory(c);
            else
                get_one(d, c, &t->others[k]);
        }
}

const struct section_kind kind_sampled = {
    .type = {12, "sampled", 0},
    .about = "only with several triggers: counters of each thread by all but the first",
    .needed = needed,
    .put = put,
    .get = get,
};
