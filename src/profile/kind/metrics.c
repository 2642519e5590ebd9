/* What nodes are weighted by. */
#include <inttypes.h>
#include <string.h>

#include "profile/kind/kind.h"

static void put(struct buf *b, const struct encoder *x)
{
    buf_put_uleb(b, x->p->metric_count);
    for (uint32_t i = 0; i < x->p->metric_count; i++) {
        const struct profile_metric *m = &x->p->metrics[i];
        buf_put_string(b, m->name);
        buf_put_string(b, m->trigger);
        buf_put_string(b, m->unit);
        buf_put_uleb(b, m->period);
        buf_put_uleb(b, m->how);
    }
}

/* The first is there before, empty. */
static void get(struct decoder *d, struct cursor *c)
{
    struct profile *p = d->p;
    uint32_t count = (uint32_t)cursor_uleb(c, METRICS_MAX, "a number of metrics, 1 to 16");
    if (!count)
        cursor_fail(c, "a number of metrics, 1 to 16");
    for (uint32_t i = 0; i < count && !c->failed; i++) {
        const struct profile_metric none = {.name = (char[]){""}, .trigger = (char[]){""},
                                            .unit = (char[]){""}};
        if (i && !profile_metric_add(p, &none)) {
            read_no_memory(c);
            return;
        }
        struct profile_metric *m = &p->metrics[i];
        read_string(c, &m->name, "the name of a metric");
        read_string(c, &m->trigger, "the trigger's name");
        read_string(c, &m->unit, "the unit of the period");
        m->period = read_u64(c, "the period");
        m->how = (uint32_t)cursor_uleb(c, METRIC_HOWS - 1, "0 to 2: how it was measured");
    }
}

static bool same(const struct profile_metric *a, const struct profile_metric *b, struct err *e)
{
    if (strcmp(a->trigger, b->trigger) != 0)
        return err_set(e, ERR_USAGE,
                       "the profiles cannot be merged: one was recorded with trigger '%s', the "
                       "other with '%s'",
                       a->trigger, b->trigger);
    if (strcmp(a->unit, b->unit) != 0)
        return err_set(e, ERR_USAGE,
                       "the profiles cannot be merged: one counts %s, the other %s", a->unit,
                       b->unit);
    if (a->period != b->period)
        return err_set(e, ERR_USAGE,
                       "the profiles cannot be merged: the period of one is %" PRIu64
                       " %s, of the other %" PRIu64 "; record both with the same -F or -c",
                       a->period, a->unit, b->period);
    if (strcmp(a->name, b->name) != 0 || (a->how == METRIC_EXACT) != (b->how == METRIC_EXACT))
        return err_set(e, ERR_USAGE,
                       "the profiles cannot be merged: one has the metric '%s' (%s), the other "
                       "'%s' (%s)",
                       a->name, metric_how_name(a->how), b->name, metric_how_name(b->how));
    return true;
}

static bool alike(const struct profile *a, const struct profile *b, struct err *e)
{
    for (uint32_t i = 0; i < a->metric_count && i < b->metric_count; i++)
        if (!same(&a->metrics[i], &b->metrics[i], e))
            return false;
    return a->metric_count == b->metric_count ||
           err_set(e, ERR_USAGE,
                   "the profiles cannot be merged: one has %" PRIu32 " metrics, the other %" PRIu32,
                   a->metric_count, b->metric_count);
}

const struct section_kind kind_metrics = {
    .type = {9, "metrics", SECTION_REQUIRED},
    .about = "what nodes of trees are weighted by",
    .put = put,
    .get = get,
    .alike = alike,
};
