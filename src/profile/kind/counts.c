/* How code ran under the engine; the numbers are figures. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile/kind/kind.h"

static bool needed(const struct profile *p)
{
    return observed_code(p) != NULL;
}

static void put(struct buf *b, const struct encoder *x)
{
    const struct profile_counts *k = observed_code(x->p);
    buf_put_string(b, k->carrier);
    buf_put_string(b, k->tool);
    buf_put_uleb(b, k->length);
    buf_put_uleb(b, k->native_ns);
    buf_put_uleb(b, k->counted);
    buf_put_uleb(b, k->classified);
}

static void get(struct decoder *d, struct cursor *c)
{
    char *carrier = cursor_string(c, "the name of a carrier");
    char *tool = cursor_string(c, "the name of a tool");
    struct profile_counts *k = carrier && tool ? profile_counts_new(carrier, tool) : NULL;
    free(carrier);
    free(tool);
    if (!k) {
        read_no_memory(c);
        return;
    }
    profile_observe(d->p, OBSERVED_CODE, k);
    k->length = read_u64(c, "the length of bursts");
    k->native_ns = read_u64(c, "the time of a native run");
    k->counted = cursor_uleb(c, 1, "0 or 1: whether instructions were counted");
    k->classified = cursor_uleb(c, 1, "0 or 1: whether instructions were classified");
}

static bool resolve(struct decoder *d)
{
    if (observed_code(d->p) && !profile_counts_settle(d->p))
        return err_set(d->e, ERR_INTERNAL, "%s: out of memory", d->file.name);
    profile_observations_judge(d->p);
    return true;
}

static bool alike(const struct profile *a, const struct profile *b, struct err *e)
{
    const struct profile_counts *x = observed_code(a), *y = observed_code(b);
    if (!x != !y || (x && (strcmp(x->carrier, y->carrier) != 0 || strcmp(x->tool, y->tool) != 0)))
        return err_set(e, ERR_USAGE,
                       "the profiles cannot be merged: one was recorded by %s%s%s, the "
                       "other by %s%s%s",
                       x ? x->carrier : "sampling", x ? " with tool " : "", x ? x->tool : "",
                       y ? y->carrier : "sampling", y ? " with tool " : "", y ? y->tool : "");
    if (x && x->length != y->length)
        return err_set(e, ERR_USAGE,
                       "the profiles cannot be merged: the bursts of one are %" PRIu64
                       " instructions long, of the other %" PRIu64 "; record both with the same "
                       "--length",
                       x->length, y->length);
    return true;
}

/* With blocks, edges and tools' tables, which refer to each other. */
static bool merge(struct merger *m)
{
    if (observed_code(m->into) &&
        !profile_counts_merge(m->into, m->from, m->image_of, m->first_process))
        return false;
    profile_observations_judge(m->into);
    return true;
}

const struct section_kind kind_counts = {
    .type = {24, "counts", 0},
    .about = "optional: how code ran under the engine",
    .needed = needed,
    .put = put,
    .get = get,
    .resolve = resolve,
    .alike = alike,
    .merge = merge,
};
