#include "profile/table/simulate_contexts.h"

#include <stdlib.h>

#include "base/saturate.h"
#include "profile/tree_sum.h"

/* A thread's tree while it grows. */
struct tree {
    struct profile_thread *thread;
    struct tree_sum sum;
    uint64_t rest[COST_CAUSE_COUNT]; /* of a cycle, that no node has yet */
};

struct place {
    struct tree *tree; /* NULL: the row is damaged */
    uint32_t node;     /* in its sum */
};

struct reading {
    struct counts_process *q;
    struct tree *trees;
    uint32_t tree_count;
    struct place *places; /* by number */
    uint32_t numbers;
};

static int compare_chunks(const void *a, const void *b)
{
    const struct spool_costs *x = *(struct spool_costs *const *)a;
    const struct spool_costs *y = *(struct spool_costs *const *)b;
    return (x->first > y->first) - (x->first < y->first);
}

/* ---- one context ---- */

static int compare_to_tree(const void *thread, const void *tree)
{
    int32_t tid = *(const int32_t *)thread, of = ((const struct tree *)tree)->thread->tid;
    return (tid > of) - (tid < of);
}

static struct tree *tree_of(struct reading *r, int32_t thread)
{
    return bsearch(&thread, r->trees, r->tree_count, sizeof *r->trees, compare_to_tree);
}

static uint64_t take_cycles(struct tree *t, unsigned cause, uint64_t parts)
{
    uint64_t all = add_saturated(t->rest[cause], parts);
    t->rest[cause] = all % COST_CYCLE;
    return all / COST_CYCLE;
}

/* What is left of a cycle goes to the next node, so that sums are right. */
static void weigh(struct tree *t, struct profile_node *n, const struct spool_context_cost *row)
{
    n->more[SIMULATED_INSTRUCTIONS - 1] = row->count;
    for (unsigned i = 0; i < COST_CAUSE_COUNT; i++) {
        uint64_t cycles = take_cycles(t, i, row->parts[i]);
        n->more[SIMULATED_CAUSES - 1 + i] = cycles;
        n->self = add_saturated(n->self, cycles);
    }
}

static bool is_honest(const struct spool_context_cost *row)
{
    bool good = row->count <= SPOOL_COUNTER_MAX;
    for (unsigned i = 0; i < COST_CAUSE_COUNT; i++)
        good &= row->parts[i] <= SIMULATED_PARTS_MOST;
    return good;
}

static bool add_row(struct reading *r, uint32_t number, const struct spool_context_cost *row)
{
    struct tree *t = tree_of(r, row->thread);
    const struct place *parent = row->parent < number ? &r->places[row->parent] : NULL;
    bool good = t && parent && (!row->parent || parent->tree == t) && is_honest(row) &&
                !r->places[number].tree;
    if (!good) {
        r->q->r->view->damage++;
        return true;
    }
    unsigned image = key_image(row->key);
    const struct profile_node n = {.image = image == KEY_IMAGE_PSEUDO ? PROFILE_IMAGE_PSEUDO
                                            : image == 0              ? PROFILE_IMAGE_NONE
                                                                      : image,
                                   .offset = key_offset(row->key)};
    uint32_t at = tree_sum_node(&t->sum, row->parent ? parent->node : 0, &n);
    if (at == UINT32_MAX)
        return false;
    r->places[number] = (struct place){t, at};
    weigh(t, &t->sum.nodes[at], row);
    return true;
}

/* ---- all ---- */

/* By number; of threads with the same one, the first in the profile. */
static int compare_trees(const void *a, const void *b)
{
    const struct profile_thread *x = ((const struct tree *)a)->thread;
    const struct profile_thread *y = ((const struct tree *)b)->thread;
    return x->tid != y->tid ? (x->tid > y->tid) - (x->tid < y->tid) : (x > y) - (x < y);
}

static bool begin(struct reading *r)
{
    struct profile *p = r->q->profile;
    const struct profile_node root = {.image = PROFILE_IMAGE_PSEUDO, .offset = KEY_ROOT};
    r->trees = calloc((size_t)p->thread_count + 1, sizeof *r->trees);
    r->places = calloc((size_t)r->numbers + 1, sizeof *r->places);
    if (!r->trees || !r->places)
        return false;
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->thread_count; i++)
        if (p->threads[i].process == r->q->process)
            r->trees[count++].thread = &p->threads[i];
    qsort(r->trees, count, sizeof *r->trees, compare_trees);
    for (uint32_t i = 0; i < count; i++) {
        struct tree *t = &r->trees[r->tree_count];
        if (r->tree_count && t[-1].thread->tid == r->trees[i].thread->tid)
            continue;
        r->tree_count++;
        t->thread = r->trees[i].thread;
        if (tree_sum_node(&t->sum, UINT32_MAX, &root) == UINT32_MAX)
            return false;
    }
    return true;
}

static bool finish(struct tree *t)
{
    struct profile_thread *to = t->thread;
    if (t->sum.count < 2)
        return true;
    uint32_t *place = calloc(t->sum.count, sizeof *place);
    struct profile_node *nodes = place ? tree_sum_preorder(&t->sum, place) : NULL;
    free(place);
    if (!nodes)
        return false;
    free(to->nodes);
    to->nodes = nodes;
    to->node_count = t->sum.count;
    to->taken = to->weight = to->weight_squares = 0;
    for (uint32_t i = 0; i < to->node_count; i++)
        to->weight = add_saturated(to->weight, nodes[i].self);
    return true;
}

static bool add_chunk(struct reading *r, struct spool_costs *chunk)
{
    uint32_t count = __atomic_load_n(&chunk->count, __ATOMIC_ACQUIRE), first = chunk->first;
    bool ok = true;
    if (count > SPOOL_CONTEXTS_MOST || first > r->numbers || count > r->numbers + 1 - first) {
        r->q->r->view->damage++;
        return true;
    }
    for (uint32_t i = 0; ok && i < count; i++) {
        struct spool_context_cost row = spool_costs_contexts(chunk)[i];
        ok = add_row(r, first + i, &row);
    }
    return ok;
}

bool simulate_contexts_read(struct counts_process *q, struct spool_costs *const *chunks,
                            uint32_t count)
{
    struct reading r = {.q = q, .numbers = count * SPOOL_CONTEXTS_MOST};
    struct spool_costs **sorted = calloc((size_t)count + 1, sizeof *sorted);
    bool ok = sorted && begin(&r);
    for (uint32_t i = 0; ok && i < count; i++)
        sorted[i] = chunks[i];
    if (ok)
        qsort(sorted, count, sizeof *sorted, compare_chunks);
    for (uint32_t i = 0; ok && i < count; i++)
        ok = add_chunk(&r, sorted[i]);
    for (uint32_t i = 0; ok && i < r.tree_count; i++)
        ok = finish(&r.trees[i]);
    for (uint32_t i = 0; r.trees && i < r.tree_count; i++)
        tree_sum_fini(&r.trees[i].sum);
    free(r.trees);
    free(r.places);
    free(sorted);
    return ok;
}
