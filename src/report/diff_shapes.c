/* Renamed functions: one that only the first side has is the same as one that only the second has,
 * if it has the same callers and callees there, no other has, and about the same weight.
 *
 *     before   main ── parse ── old ── read        after   main ── parse ── new ── read
 *
 * Callers and callees are those of a good part of its weight, by what they are matched with. Where
 * some are not matched, it waits until they are. */
#include "report/diff_names.h"
#include "sigsafe/hash.h"

#include <stdlib.h>

/* A neighbour counts if it shares this part of the function's samples. */
#define STRONG 0.125
enum { ROUNDS = 8, SAMPLES_LEAST = 20 };
/* A rename does not change what a function costs by more than this factor. */
#define WEIGHT_RATIO 2

/* Of a function of one side. */
struct edge {
    uint32_t function, other;
    bool callee; /* the other one is */
    double weight; /* share of a run's samples */
};

struct edges {
    struct edge *list;
    size_t count;
};

struct weight {
    double samples, share;
};

struct shape {
    uint64_t hash;
    uint32_t function;
    unsigned side;
};

static bool is_lonely(const struct diff_names *n, uint32_t id)
{
    const struct diff_function *f = &n->functions[id];
    return f->same == id && (f->sides == 1u << DIFF_BEFORE || f->sides == 1u << DIFF_AFTER);
}

static size_t collect_run(const struct diff_names *n, const struct view *v, const uint32_t *ids,
                          struct edge *to)
{
    size_t count = 0;
    for (uint32_t i = 1; i < v->tree.count; i++) {
        const struct view_node *node = &v->tree.nodes[i];
        uint32_t callee = ids[node->function], caller = ids[v->tree.nodes[node->parent].function];
        double share = v->samples ? (double)node->total / (double)v->samples : 0;
        if (callee == caller)
            continue;
        if (is_lonely(n, callee))
            to[count++] = (struct edge){callee, caller, false, share};
        if (is_lonely(n, caller))
            to[count++] = (struct edge){caller, callee, true, share};
    }
    return count;
}

static int compare_edges(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    if (x->callee != y->callee)
        return x->callee ? 1 : -1;
    return (x->other > y->other) - (x->other < y->other);
}

/* Sorted, one for each pair of functions. */
static void add_up(struct edges *e)
{
    size_t kept = 0;
    if (e->count)
        qsort(e->list, e->count, sizeof *e->list, compare_edges);
    for (size_t i = 0; i < e->count; i++)
        if (kept && !compare_edges(&e->list[kept - 1], &e->list[i]))
            e->list[kept - 1].weight += e->list[i].weight;
        else
            e->list[kept++] = e->list[i];
    e->count = kept;
}

static void weigh(struct weight *weights, const struct view *v, const uint32_t *ids)
{
    for (uint32_t i = 0; i < v->function_count; i++) {
        weights[ids[i]].samples += (double)v->functions[i].total;
        weights[ids[i]].share +=
            v->samples ? (double)v->functions[i].total / (double)v->samples : 0;
    }
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = hash_word(hash ^ value);
    return hash ^ hash >> 32;
}

/* Of the edges of one function. Order does not matter. False: it cannot be said yet. */
static bool hash_edges(const struct diff_names *n, const struct edge *list, size_t count,
                       double share, uint64_t *hash)
{
    *hash = 0;
    for (size_t i = 0; i < count; i++) {
        if (list[i].weight < STRONG * share)
            continue;
        uint32_t other = n->functions[list[i].other].same;
        if (n->functions[other].sides != (1u << DIFF_BEFORE | 1u << DIFF_AFTER))
            return false;
        *hash += mix(mix(1, other), list[i].callee);
    }
    return true;
}

static size_t make_shapes(const struct diff_names *n, const struct edges *e,
                          const struct weight *weights, struct shape *to)
{
    size_t count = 0;
    for (size_t i = 0, next; i < e->count; i = next) {
        uint32_t f = e->list[i].function;
        for (next = i; next < e->count && e->list[next].function == f;)
            next++;
        struct shape s = {.function = f, .side = n->functions[f].sides == 1u << DIFF_AFTER};
        if (is_lonely(n, f) && weights[f].samples >= SAMPLES_LEAST &&
            hash_edges(n, &e->list[i], next - i, weights[f].share, &s.hash))
            to[count++] = s;
    }
    return count;
}

static int compare_shapes(const void *a, const void *b)
{
    const struct shape *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (int)x->side - (int)y->side;
}

/* Shares are sums over the runs of a side. */
static bool weigh_alike(const struct weight *a, double a_runs, const struct weight *b,
                        double b_runs)
{
    double x = a->share / a_runs, y = b->share / b_runs;
    return x <= WEIGHT_RATIO * y && y <= WEIGHT_RATIO * x;
}

static size_t match_shapes(struct diff_names *n, struct shape *list, size_t count,
                           const struct weight *weights, const double runs[DIFF_SIDES])
{
    size_t matched = 0;
    if (count)
        qsort(list, count, sizeof *list, compare_shapes);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && list[next].hash == list[i].hash;)
            next++;
        if (next - i != 2 || list[i].side == list[i + 1].side)
            continue;
        uint32_t a = list[i].function, b = list[i + 1].function;
        if (!diff_may_match(&n->functions[a], &n->functions[b]) ||
            !weigh_alike(&weights[a], runs[DIFF_BEFORE], &weights[b], runs[DIFF_AFTER]))
            continue;
        diff_match(n, a, b);
        matched++;
    }
    return matched;
}

bool diff_match_shapes(struct diff_names *n, const struct diff_run *runs)
{
    size_t nodes = 0;
    double of_side[DIFF_SIDES] = {0};
    struct edges e = {0};
    for (uint32_t r = 0; r < n->runs; r++)
        nodes += runs[r].view->tree.count;
    e.list = calloc(2 * nodes + 1, sizeof *e.list);
    struct weight *weights = calloc(n->count + 1u, sizeof *weights);
    struct shape *shapes = calloc(n->count + 1u, sizeof *shapes);
    bool ok = e.list && weights && shapes;
    for (uint32_t r = 0; ok && r < n->runs; r++) {
        e.count += collect_run(n, runs[r].view, n->ids[r], e.list + e.count);
        weigh(weights, runs[r].view, n->ids[r]);
        of_side[runs[r].side]++;
    }
    add_up(&e);
    for (unsigned round = 0; ok && round < ROUNDS; round++)
        if (!match_shapes(n, shapes, make_shapes(n, &e, weights, shapes), weights, of_side))
            break;
    free(e.list);
    free(weights);
    free(shapes);
    return ok;
}
