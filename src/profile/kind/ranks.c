/* The numbers of processes of a parallel program. */
#include "profile/kind/kind.h"

static bool needed(const struct profile *p)
{
    for (uint32_t i = 0; i < p->process_count; i++)
        if (p->processes[i].rank)
            return true;
    return false;
}

static void put(struct buf *b, const struct encoder *x)
{
    const struct profile *p = x->p;
    buf_put_uleb(b, p->process_count);
    for (uint32_t i = 0; i < p->process_count; i++)
        buf_put_uleb(b, p->processes[i].rank);
}

static void get(struct decoder *d, struct cursor *c)
{
    struct profile *p = d->p;
    if (cursor_count(c, 1, "a number of ranks") != p->process_count && !c->failed)
        cursor_fail(c, "as many ranks as there are processes");
    for (uint32_t i = 0; i < p->process_count && !c->failed; i++)
        p->processes[i].rank = (uint32_t)cursor_uleb(c, (uint64_t)INT32_MAX + 1, "a rank plus 1");
}

const struct section_kind kind_ranks = {
    .type = {18, "ranks", 0},
    .about = "only if a process has a rank; not *required*",
    .needed = needed,
    .put = put,
    .get = get,
};
