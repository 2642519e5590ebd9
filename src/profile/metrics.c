#include "profile/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "profile/profile.h"
#include "profile/shares.h"
#include "profile/timeline.h"

bool profile_metric_add(struct profile *p, const struct profile_metric *m)
{
    if (p->metric_count == METRICS_MAX)
        return false;
    struct profile_metric *to = &p->metrics[p->metric_count++];
    *to = *m;
    to->name = strdup(m->name);
    to->trigger = strdup(m->trigger);
    to->unit = strdup(m->unit);
    return to->name && to->trigger && to->unit;
}

bool profile_metrics_of_heap(struct profile *p)
{
    static const char *const names[HEAP_METRICS] = {
        [HEAP_ALLOCATED] = "allocated", [HEAP_LIVE] = "live", [HEAP_PEAK] = "peak"};
    struct profile_metric *first = &p->metrics[p->metric_count - 1], m = *first;
    char *name = strdup(names[HEAP_ALLOCATED]);
    if (!name)
        return false;
    free(first->name);
    first->name = name;
    for (unsigned i = HEAP_LIVE; i < HEAP_METRICS; i++) {
        m.name = (char *)(uintptr_t)names[i];
        if (!profile_metric_add(p, &m))
            return false;
    }
    return true;
}

uint32_t profile_metric_find(const struct profile *p, const char *name)
{
    for (uint32_t i = 0; i < p->metric_count; i++)
        if (strcmp(p->metrics[i].name, name) == 0)
            return i;
    for (uint32_t i = 0; i < p->metric_count; i++)
        if (strcmp(p->metrics[i].trigger, name) == 0)
            return i;
    return UINT32_MAX;
}

uint32_t profile_metric_of_heap(const struct profile *p)
{
    for (uint32_t i = 0; i < p->metric_count; i++)
        if (strcmp(p->metrics[i].trigger, "malloc") == 0)
            return i;
    return UINT32_MAX;
}

uint32_t profile_trigger_of(const struct profile *p, uint32_t metric)
{
    uint32_t trigger = 0;
    for (uint32_t i = 1; i <= metric; i++)
        trigger += strcmp(p->metrics[i].trigger, p->metrics[i - 1].trigger) != 0;
    return trigger;
}

uint32_t profile_triggers(const struct profile *p)
{
    return 1 + profile_trigger_of(p, p->metric_count - 1);
}

struct profile_sampled *profile_sampled_new(const struct profile *p)
{
    return calloc(profile_triggers(p), sizeof(struct profile_sampled));
}

static void add(uint64_t *to, const uint64_t *from, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        to[i] += from[i];
}

struct profile_sampled profile_sampled_by(const struct profile *p, uint32_t trigger)
{
    struct profile_sampled sum = {0};
    if (!trigger) {
        struct profile_totals t;
        profile_totals(p, &t);
        sum = (struct profile_sampled){.taken = t.taken, .weight = t.weight,
                                       .weight_squares = t.weight_squares, .guessed = t.guessed};
        add(sum.truncated, t.truncated, TRUNC_COUNT);
        add(sum.drops, t.drops, DROP_COUNT);
        return sum;
    }
    for (uint32_t i = 0; i < p->thread_count; i++) {
        const struct profile_sampled *s = p->threads[i].others;
        if (!s)
            continue;
        s += trigger - 1;
        sum.taken += s->taken;
        sum.weight += s->weight;
        sum.weight_squares += s->weight_squares;
        sum.guessed += s->guessed;
        add(sum.truncated, s->truncated, TRUNC_COUNT);
        add(sum.drops, s->drops, DROP_COUNT);
    }
    return sum;
}

uint64_t profile_sampled_dropped(const struct profile_sampled *s)
{
    uint64_t dropped = 0;
    for (unsigned i = 0; i < DROP_COUNT; i++)
        dropped += i == DROP_PAUSED ? 0 : s->drops[i];
    return dropped;
}

static void exchange(uint64_t *a, uint64_t *b, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint64_t was = a[i];
        a[i] = b[i];
        b[i] = was;
    }
}

/* Each passes through the first place to the one behind its own, and the last of them stays
 * there. */
static void lead_counters(struct profile_thread *t, uint32_t trigger)
{
    for (uint32_t k = 0; k < trigger; k++) {
        struct profile_sampled *s = &t->others[k];
        exchange(&t->taken, &s->taken, 1);
        exchange(&t->weight, &s->weight, 1);
        exchange(&t->weight_squares, &s->weight_squares, 1);
        exchange(&t->guessed, &s->guessed, 1);
        exchange(t->truncated, s->truncated, TRUNC_COUNT);
        exchange(t->drops, s->drops, DROP_COUNT);
    }
}

static void reorder_weights(const struct profile *p, struct profile_node *n, const uint32_t *from)
{
    uint64_t weights[METRICS_MAX];
    weights[0] = n->self;
    memcpy(weights + 1, n->more, sizeof n->more);
    n->self = weights[from[0]];
    for (uint32_t m = 1; m < p->metric_count; m++)
        n->more[m - 1] = weights[from[m]];
}

/* Metric from[i] becomes metric i: of the profile, of its nodes, their moments and shares. */
static void reorder(struct profile *p, const uint32_t *from)
{
    struct profile_metric metrics[METRICS_MAX];
    uint32_t to[METRICS_MAX] = {0};
    memcpy(metrics, p->metrics, sizeof metrics);
    for (uint32_t m = 0; m < p->metric_count; m++) {
        p->metrics[m] = metrics[from[m]];
        to[from[m]] = m;
    }
    for (uint32_t i = 0; i < p->thread_count; i++)
        for (uint32_t k = 0; k < p->threads[i].node_count; k++)
            reorder_weights(p, &p->threads[i].nodes[k], from);
    profile_timelines_renumber(p, to);
    profile_shares_renumber(p, to);
}

static void move_drops(uint64_t *from, uint64_t *to)
{
    for (unsigned i = 0; i < DROP_COUNT; i++) {
        to[i] += from[i];
        from[i] = 0;
    }
}

/* What was dropped outside threads was so by the first trigger, and stays with it. */
static void drops_into_thread(struct profile *p)
{
    if (!p->thread_count)
        return;
    move_drops(p->drops, p->threads[0].drops);
    for (uint32_t i = 0; i < p->process_count; i++)
        move_drops(p->processes[i].drops, p->threads[0].drops);
}

bool profile_lead(struct profile *p, uint32_t metric)
{
    uint32_t trigger = profile_trigger_of(p, metric), count = 0, from[METRICS_MAX] = {0};
    if (!trigger)
        return true;
    for (unsigned other = 0; other < 2; other++)
        for (uint32_t m = 0; m < p->metric_count; m++)
            if ((profile_trigger_of(p, m) != trigger) == other)
                from[count++] = m;
    drops_into_thread(p);
    p->hit_count = 0; /* they are of the metric that was the first */
    for (uint32_t i = 0; i < p->thread_count; i++) {
        struct profile_thread *t = &p->threads[i];
        if (!t->others && !(t->others = profile_sampled_new(p)))
            return false;
        lead_counters(t, trigger);
    }
    reorder(p, from);
    return true;
}

bool profile_lead_by(struct profile *p, const char **metric, struct err *e)
{
    if (!*metric)
        return true;
    uint32_t index = profile_metric_find(p, *metric);
    if (index == UINT32_MAX)
        return profile_metric_missing(p, *metric, e);
    if (!profile_lead(p, index))
        return err_set(e, ERR_INTERNAL, "out of memory");
    if (profile_metric_find(p, *metric) == 0)
        *metric = NULL;
    return true;
}

const char *metric_how_name(unsigned how)
{
    static const char *const names[METRIC_HOWS] = {[METRIC_REGULAR] = "regular",
                                                   [METRIC_RANDOMIZED] = "randomized",
                                                   [METRIC_EXACT] = "exact"};
    return how < METRIC_HOWS ? names[how] : "?";
}

bool profile_metric_missing(const struct profile *p, const char *name, struct err *e)
{
    struct buf names = {0}, triggers = {0};
    for (uint32_t i = 0; i < p->metric_count; i++) {
        buf_printf(&names, "%s%s", i ? ", " : "", p->metrics[i].name);
        if (!i || profile_trigger_of(p, i) != profile_trigger_of(p, i - 1))
            buf_printf(&triggers, "%s%s", i ? ", " : "", p->metrics[i].trigger);
    }
    buf_put_u8(&names, 0);
    buf_put_u8(&triggers, 0);
    bool known = buf_ok(&names) && buf_ok(&triggers);
    err_set(e, ERR_USAGE, "there is no metric \"%s\" in this profile of -e %s; it has %s%s", name,
            known ? (const char *)triggers.data : p->metrics[0].trigger,
            known ? (const char *)names.data : "others",
            profile_metric_of_heap(p) == UINT32_MAX ? "; -e malloc has allocated, live and peak"
                                                    : "");
    buf_free(&names);
    buf_free(&triggers);
    return false;
}

/* Samples of the triggers after the first that keep a metric. */
static void keep_others(struct profile_thread *t, const bool *triggers, uint32_t count)
{
    uint32_t to = 0;
    for (uint32_t k = 1; t->others && k < count; k++)
        if (triggers[k])
            t->others[to++] = t->others[k - 1];
}

void profile_metrics_keep(struct profile *p, const bool kept[METRICS_MAX])
{
    uint32_t from[METRICS_MAX], count = 0, all = 0, triggers = profile_triggers(p);
    bool trigger_kept[METRICS_MAX] = {false};
    for (unsigned other = 0; other < 2; other++) {
        for (uint32_t m = 0; m < p->metric_count; m++)
            if (kept[m] != other)
                from[all++] = m;
        count = other ? count : all;
    }
    for (uint32_t i = 0; i < count; i++)
        trigger_kept[profile_trigger_of(p, from[i])] = true;
    for (uint32_t i = 0; i < p->thread_count; i++)
        keep_others(&p->threads[i], trigger_kept, triggers);
    reorder(p, from);
    profile_metrics_fini(p, count);
}

void profile_metric_first(struct profile *p, uint32_t metric)
{
    uint32_t from[METRICS_MAX];
    for (uint32_t m = 0; m < METRICS_MAX; m++)
        from[m] = !m ? metric : m == metric ? 0 : m;
    if (metric)
        reorder(p, from);
}

void profile_metrics_fini(struct profile *p, uint32_t kept)
{
    for (uint32_t i = kept; i < p->metric_count; i++) {
        free(p->metrics[i].name);
        free(p->metrics[i].trigger);
        free(p->metrics[i].unit);
    }
    p->metric_count = kept;
}
