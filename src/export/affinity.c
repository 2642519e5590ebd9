#include "export/affinity.h"

#include <stdlib.h>

#include "base/saturate.h"
#include "export/list.h"

enum {
    NONE = -1,
    CLUSTER_BYTES = 1024 * 1024, /* no cluster is larger: callers far away are no neighbours */
    LIKELY = 10,   /* the likeliest caller makes more than one of so many of a function's calls */
    DILUTION = 8,  /* no cluster takes another that makes it so many times less dense */
    ENORMOUS = 1 << 30, /* bytes of a function, beyond which its size is wrong */
};

/* Functions one after the other; known by the function that it begins with. */
struct cluster {
    uint32_t last;
    uint64_t size, heat;
};

struct clustering {
    const struct affinity *a;
    struct cluster *clusters;   /* by function */
    uint32_t *in;               /* by function: one nearer to the beginning of its cluster */
    int64_t *next, *caller;     /* by function; or NONE */
    uint32_t *ranked;           /* functions by heat, then beginnings of clusters by density */
};

/* heat / size of x against that of y. */
static int compare_density(const struct cluster *x, const struct cluster *y)
{
    unsigned __int128 a = (unsigned __int128)x->heat * y->size;
    unsigned __int128 b = (unsigned __int128)y->heat * x->size;
    return a < b ? -1 : a > b;
}

static int compare_heat(const void *a, const void *b, void *context)
{
    const struct clustering *c = context;
    const uint32_t *x = a, *y = b;
    int order = list_compare(c->clusters[*y].heat, c->clusters[*x].heat);
    return order ? order : list_compare(*x, *y);
}

static int compare_clusters(const void *a, const void *b, void *context)
{
    const struct clustering *c = context;
    const uint32_t *x = a, *y = b;
    int order = compare_density(&c->clusters[*y], &c->clusters[*x]);
    return order ? order : list_compare(*x, *y);
}

static int compare_start(const void *key, const void *element)
{
    const struct affinity_function *f = element;
    return list_compare(*(const uint64_t *)key, f->start);
}

static int64_t index_of(const struct affinity *a, uint64_t start)
{
    const struct affinity_function *f = bsearch(&start, a->functions, a->function_count,
                                                sizeof *a->functions, compare_start);
    return f ? f - a->functions : NONE;
}

static void find_callers(struct clustering *c)
{
    const struct affinity *a = c->a;
    for (uint32_t i = 0; i < a->call_count;) {
        const struct affinity_call *best = &a->calls[i];
        int64_t callee = index_of(a, best->to);
        uint64_t sum = 0;
        for (; i < a->call_count && a->calls[i].to == best->to; i++) {
            sum = add_saturated(sum, a->calls[i].count);
            if (a->calls[i].count > best->count)
                best = &a->calls[i];
        }
        if (callee != NONE && best->count > sum / LIKELY)
            c->caller[callee] = index_of(a, best->from);
    }
}

/* The function that the cluster of f begins with. */
static uint32_t beginning(struct clustering *c, uint32_t f)
{
    while (c->in[f] != f)
        f = c->in[f] = c->in[c->in[f]];
    return f;
}

static bool goes_with(const struct cluster *to, const struct cluster *more)
{
    struct cluster both = { .size = to->size + more->size,
                            .heat = add_saturated(to->heat, more->heat) };
    struct cluster thin = { .size = to->size * DILUTION, .heat = to->heat };
    return both.size <= CLUSTER_BYTES && compare_density(&both, &thin) >= 0;
}

/* f begins its cluster: nobody has appended it yet. */
static void append(struct clustering *c, uint32_t f)
{
    if (c->caller[f] == NONE)
        return;
    uint32_t to = beginning(c, (uint32_t)c->caller[f]);
    struct cluster *cluster = &c->clusters[to], *more = &c->clusters[f];
    if (to == f || !goes_with(cluster, more))
        return;
    c->next[cluster->last] = f;
    c->in[f] = to;
    cluster->last = more->last;
    cluster->size += more->size;
    cluster->heat = add_saturated(cluster->heat, more->heat);
}

static void build(struct clustering *c)
{
    uint32_t count = c->a->function_count;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t size = c->a->functions[i].size;
        size = size > ENORMOUS ? ENORMOUS : size ? size : 1;
        c->clusters[i] = (struct cluster){ i, size, c->a->functions[i].heat };
        c->in[i] = c->ranked[i] = i;
        c->next[i] = c->caller[i] = NONE;
    }
    find_callers(c);
    qsort_r(c->ranked, count, sizeof *c->ranked, compare_heat, c);
    for (uint32_t i = 0; i < count; i++)
        append(c, c->ranked[i]);
}

static void put_order(struct clustering *c, uint32_t *order)
{
    uint32_t clusters = 0, at = 0;
    for (uint32_t i = 0; i < c->a->function_count; i++)
        if (c->in[i] == i)
            c->ranked[clusters++] = i;
    qsort_r(c->ranked, clusters, sizeof *c->ranked, compare_clusters, c);
    for (uint32_t i = 0; i < clusters; i++)
        for (int64_t f = c->ranked[i]; f != NONE; f = c->next[f])
            order[at++] = (uint32_t)f;
}

uint32_t *affinity_order(const struct affinity *a)
{
    size_t count = (size_t)a->function_count + 1;
    struct clustering c = { .a = a };
    uint32_t *order = calloc(count, sizeof *order);
    c.clusters = calloc(count, sizeof *c.clusters);
    c.in = calloc(count, sizeof *c.in);
    c.next = calloc(count, sizeof *c.next);
    c.caller = calloc(count, sizeof *c.caller);
    c.ranked = calloc(count, sizeof *c.ranked);
    if (order && c.clusters && c.in && c.next && c.caller && c.ranked) {
        build(&c);
        put_order(&c, order);
    } else {
        free(order);
        order = NULL;
    }
    free(c.clusters);
    free(c.in);
    free(c.next);
    free(c.caller);
    free(c.ranked);
    return order;
}
