/* Processes that entered a sandbox. */
#include "profile/kind/kind.h"

static bool needed(const struct profile *p)
{
    return profile_sandboxed(p) != 0;
}

static void put(struct buf *b, const struct encoder *x)
{
    const struct profile *p = x->p;
    for (uint32_t i = 0; i < p->process_count; i++) {
        buf_put_uleb(b, p->processes[i].sandboxed ? 1 + p->processes[i].sandbox_silenced : 0);
        buf_put_uleb(b, p->processes[i].sandbox_threads);
        buf_put_uleb(b, p->processes[i].sandbox_processes);
    }
}

static void get(struct decoder *d, struct cursor *c)
{
    struct profile *p = d->p;
    for (uint32_t i = 0; i < p->process_count; i++) {
        uint64_t silenced = read_u64(c, "a number of threads that a sandbox silenced");
        p->processes[i].sandboxed = silenced != 0;
        p->processes[i].sandbox_silenced = silenced ? silenced - 1 : 0;
        p->processes[i].sandbox_threads = read_u64(c, "a number of threads in a sandbox");
        p->processes[i].sandbox_processes = read_u64(c, "a number of processes in a sandbox");
    }
}

const struct section_kind kind_sandboxes = {
    .type = {19, "sandboxes", 0},
    .about = "optional: processes that entered one",
    .needed = needed,
    .put = put,
    .get = get,
};
