#include "export/moments.h"

#include <stdlib.h>

#include "base/array.h"
#include "export/intern.h"
#include "profile/shares.h"
#include "profile/timeline.h"

/* ---- lanes ---- */

bool lanes_init(struct lanes *l, const struct profile *p)
{
    struct intern ids = {0};
    size_t count = (size_t)p->thread_count + 1;
    uint32_t *last = calloc(count, sizeof *last);
    *l = (struct lanes){.first = calloc(count, sizeof *l->first),
                        .next = calloc(count, sizeof *l->next)};
    bool ok = last && l->first && l->next;
    for (uint32_t i = 0; ok && i < p->thread_count; i++) {
        const struct profile_thread *t = &p->threads[i];
        uint64_t id = (uint64_t)t->process << 32 | (uint32_t)t->tid;
        uint32_t lane = intern_add(&ids, &id, sizeof id);
        ok = intern_ok(&ids);
        l->next[i] = LANE_END;
        if (lane == l->count)
            l->first[l->count++] = i;
        else if (ok)
            l->next[last[lane]] = i;
        last[lane] = i;
    }
    intern_fini(&ids);
    free(last);
    if (!ok)
        lanes_fini(l);
    return ok;
}

void lanes_fini(struct lanes *l)
{
    free(l->first);
    free(l->next);
    *l = (struct lanes){0};
}

/* ---- moments ---- */

static bool add(struct moments *m, const struct moment *one)
{
    if (!ARRAY_ROOM(m->list, m->count, m->capacity))
        return false;
    m->list[m->count++] = *one;
    return true;
}

/* A thread's weight that no moment of its timeline names. */
struct left {
    uint32_t *nodes;   /* that have some, scattered */
    uint64_t *weights; /* by node; moments.left */
    uint32_t count, at;
};

static void left_fini(struct left *l)
{
    for (uint32_t i = 0; l->weights && i < l->count; i++)
        l->weights[l->nodes[i]] = 0;
    free(l->nodes);
}

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Neighbours in the tree get far apart: by steps that are prime to the count, near its golden
 * section. */
static bool left_scatter(struct left *l)
{
    uint32_t *to = calloc((size_t)l->count + 1, sizeof *to);
    if (!to)
        return false;
    uint32_t step = (uint32_t)((uint64_t)l->count * 618 / 1000) | 1, at = 0;
    while (common_divisor(step, l->count) != 1)
        step++;
    for (uint32_t i = 0; i < l->count; i++) {
        to[i] = l->nodes[at];
        at = (uint32_t)(((uint64_t)at + step) % l->count);
    }
    free(l->nodes);
    l->nodes = to;
    return true;
}

static bool weights_reserve(struct moments *m, uint32_t count)
{
    if (m->left && count <= m->left_count)
        return true;
    free(m->left);
    m->left = calloc((size_t)count + 1, sizeof *m->left);
    m->left_count = m->left ? count : 0;
    return m->left != NULL;
}

static void left_add(struct left *l, uint32_t node, uint64_t weight)
{
    if (!l->weights[node] && weight)
        l->nodes[l->count++] = node;
    l->weights[node] += weight;
}

/* The thread's weights, by node. */
static bool left_begin(struct left *l, struct moments *m, const struct profile *p, uint32_t thread,
                       uint32_t metric)
{
    const struct profile_shares *s = p->threads[thread].shares;
    const struct profile_thread *tree = &p->threads[profile_tree_of(p, thread)];
    bool ok = weights_reserve(m, tree->node_count);
    *l = (struct left){calloc((s ? s->count : tree->node_count) + (size_t)1, sizeof *l->nodes),
                       m->left, 0, 0};
    if (!ok || !l->nodes)
        return false;
    for (uint32_t i = 0; s && i < s->count; i++)
        if (s->list[i].metric == metric)
            left_add(l, s->list[i].node, s->list[i].weight);
    for (uint32_t i = 0; !s && i < tree->node_count; i++)
        left_add(l, i, moment_weight(&tree->nodes[i], metric));
    return true;
}

static bool left_init(struct left *l, struct moments *m, const struct profile *p, uint32_t thread,
                      uint32_t metric)
{
    const struct profile_timeline *line = p->threads[thread].timeline;
    uint32_t kept = 0;
    if (!left_begin(l, m, p, thread, metric))
        return false;
    for (uint32_t i = 0; line && i < line->count; i++) {
        const struct profile_moment *one = &line->list[i];
        if (one->metric != metric || one->node == PROFILE_REST)
            continue;
        uint64_t *has = &l->weights[one->node];
        *has -= one->weight < *has ? one->weight : *has;
    }
    for (uint32_t i = 0; i < l->count; i++)
        if (l->weights[l->nodes[i]])
            l->nodes[kept++] = l->nodes[i];
    l->count = kept;
    return !line || l->count < 2 || left_scatter(l);
}

/* So much of what is left, or all of it, at this time. */
static bool left_take(struct moments *m, struct left *l, struct moment *one, uint64_t weight)
{
    while (weight && l->at < l->count) {
        one->node = l->nodes[l->at];
        uint64_t *has = &l->weights[one->node];
        one->weight = *has < weight ? *has : weight;
        if (!add(m, one))
            return false;
        weight -= one->weight;
        *has -= one->weight;
        l->at += !*has;
    }
    return true;
}

static bool add_timed(struct moments *m, const struct profile_thread *t, uint32_t thread,
                      uint32_t metric, struct left *left)
{
    const struct profile_timeline *line = t->timeline;
    bool ok = true;
    for (uint32_t i = 0; ok && line && i < line->count; i++) {
        const struct profile_moment *from = &line->list[i];
        if (from->metric != metric)
            continue;
        struct profile_stretch s = profile_moment_stretch(line, from);
        struct moment one = {s.from_ns, s.to_ns, thread, from->node, from->weight};
        ok = from->node == PROFILE_REST ? left_take(m, left, &one, from->weight) : add(m, &one);
    }
    return ok;
}

/* What has no time: all of it where nothing has. */
static bool add_untimed(struct moments *m, const struct profile_thread *t, uint32_t thread,
                        bool spread, struct left *left)
{
    uint64_t total = 0, before = 0;
    double life = t->end_ns > t->start_ns ? (double)(t->end_ns - t->start_ns) : 0;
    bool ok = true;
    for (uint32_t i = left->at; i < left->count; i++)
        total += left->weights[left->nodes[i]];
    for (uint32_t i = left->at; ok && i < left->count; i++) {
        struct moment one = {t->end_ns, t->end_ns, thread, left->nodes[i],
                             left->weights[left->nodes[i]]};
        if (spread) {
            one.from_ns = t->start_ns + (uint64_t)(life * (double)before / (double)total);
            before += one.weight;
            one.to_ns = t->start_ns + (uint64_t)(life * (double)before / (double)total);
        }
        ok = add(m, &one);
    }
    return ok;
}

static bool add_thread(struct moments *m, const struct profile *p, uint32_t thread,
                       uint32_t metric)
{
    const struct profile_thread *t = &p->threads[thread];
    struct left left;
    size_t before = m->count;
    bool ok = left_init(&left, m, p, thread, metric) && add_timed(m, t, thread, metric, &left);
    size_t timed = m->count;
    ok = ok && add_untimed(m, t, thread, timed == before, &left);
    for (size_t i = before; ok && i < m->count; i++) {
        m->total += m->list[i].weight;
        m->timed += i < timed ? m->list[i].weight : 0;
    }
    left_fini(&left);
    return ok;
}

static int compare(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;
    if (x->from_ns != y->from_ns)
        return x->from_ns < y->from_ns ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

bool moments_of(struct moments *m, const struct profile *p, const struct lanes *l, uint32_t lane,
                uint32_t metric)
{
    bool ok = true;
    m->count = 0;
    m->timed = m->total = 0;
    for (uint32_t i = l->first[lane]; ok && i != LANE_END; i = l->next[i])
        ok = add_thread(m, p, i, metric);
    if (ok && m->count)
        qsort(m->list, m->count, sizeof *m->list, compare);
    return ok;
}

void moments_fini(struct moments *m)
{
    free(m->list);
    free(m->left);
    *m = (struct moments){0};
}
