/* What is known of the heap of each process, of the trigger malloc. */
#include <string.h>

#include "profile/kind/kind.h"

static bool needed(const struct profile *p)
{
    return profile_metric_of_heap(p) != UINT32_MAX;
}

static void put(struct buf *b, const struct encoder *x)
{
    const struct profile *p = x->p;
    for (uint32_t i = 0; i < p->process_count; i++) {
        buf_put_uleb(b, p->processes[i].heap_peak_ns);
        buf_put_uleb(b, p->processes[i].heap_missed);
    }
}

static void get(struct decoder *d, struct cursor *c)
{
    struct profile *p = d->p;
    for (uint32_t i = 0; i < p->process_count; i++) {
        p->processes[i].heap_peak_ns = read_u64(c, "when the most was live");
        p->processes[i].heap_missed = read_u64(c, "a number of missed allocations");
    }
}

const struct section_kind kind_heap = {
    .type = {17, "heap", 0},
    .about = "optional: the heap of each process, of the trigger `malloc`",
    .needed = needed,
    .put = put,
    .get = get,
};
