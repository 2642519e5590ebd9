/* The CPU time that samples could stand for. */
#include "base/saturate.h"
#include "profile/kind/kind.h"

static bool needed(const struct profile *p)
{
    for (uint32_t i = 0; i < p->process_count; i++)
        if (p->processes[i].early_cpu_ns)
            return true;
    return p->kernel_cpu_ns != 0;
}

static void put(struct buf *b, const struct encoder *x)
{
    const struct profile *p = x->p;
    buf_put_uleb(b, p->kernel_cpu_ns);
    for (uint32_t i = 0; i < p->process_count; i++)
        buf_put_uleb(b, p->processes[i].early_cpu_ns);
}

static void get(struct decoder *d, struct cursor *c)
{
    struct profile *p = d->p;
    p->kernel_cpu_ns = read_u64(c, "the CPU time that the kernel accounts");
    for (uint32_t i = 0; i < p->process_count; i++)
        p->processes[i].early_cpu_ns =
            read_u64(c, "the CPU time before the first sample could come");
}

/* Of both it is known only if it is of each. */
static bool merge(struct merger *m)
{
    uint64_t a = m->into->kernel_cpu_ns, b = m->from->kernel_cpu_ns;
    m->into->kernel_cpu_ns = a && b ? add_saturated(a, b) : 0;
    return true;
}

const struct section_kind kind_cpu_time = {
    .type = {20, "CPU time", 0},
    .about = "optional: the CPU time that samples could stand for",
    .needed = needed,
    .put = put,
    .get = get,
    .merge = merge,
};
