#include "report/fold.h"

#include <stdlib.h>

#include "base/saturate.h"
#include "sigsafe/hash.h"

enum { CYCLE_MAX = 8 }; /* functions of a cycle that is recognized */

struct fold {
    const struct view_tree *in;
    struct view_tree *out;
    uint32_t *to;    /* by index in `in`: the node of `out` that it is part of */
    /* by index in `in`: levels that are one node with it, from the first of them */
    uint32_t *round;
    /* What is not below a child; by index in `in`, then by index in `out`. */
    uint64_t *own;
    uint64_t *weights; /* by index in `in`: the same of all metrics, as view_tree_weights */
    uint32_t *slots; /* open addressing: (parent, function) -> index in out + 1 */
    size_t size;     /* a power of two */
};

static void own_subtract(uint64_t *from, uint64_t what)
{
    *from = *from > what ? *from - what : 0;
}

static uint64_t *weights_of(const struct fold *f, uint32_t node)
{
    return f->weights + (size_t)node * f->in->metrics;
}

static void owns_compute(struct fold *f)
{
    const struct view_node *nodes = f->in->nodes;
    for (uint32_t i = f->in->count; i-- > 0;) {
        f->own[i] = add_saturated(f->own[i], nodes[i].total);
        for (uint32_t k = 0; k < f->in->metrics; k++)
            weights_of(f, i)[k] = view_tree_weights(f->in, i)[k];
    }
    for (uint32_t i = 1; i < f->in->count; i++) {
        own_subtract(&f->own[nodes[i].parent], nodes[i].total);
        for (uint32_t k = 0; k < f->in->metrics; k++)
            own_subtract(&weights_of(f, nodes[i].parent)[k], view_tree_weights(f->in, i)[k]);
    }
}

/* Whether the path that ends with `function` below `at` has gone round a cycle of `length`
 * functions: the node that it has come back to, else VIEW_NONE. */
static uint32_t cycle_end(const struct fold *f, uint32_t at, uint32_t function, unsigned length)
{
    const struct view_node *nodes = f->out->nodes;
    uint32_t back = at;
    for (unsigned i = 1; i < length && back != 0; i++)
        back = nodes[back].parent;
    if (back == 0 || nodes[back].function != function)
        return VIEW_NONE;
    /* The functions in between have been met on the way to `back`, too. */
    uint32_t a = at, b = nodes[back].parent;
    for (unsigned i = 1; i < length; i++, a = nodes[a].parent, b = nodes[b].parent)
        if (b == 0 || nodes[a].function != nodes[b].function)
            return VIEW_NONE;
    return back;
}

static uint32_t *slot_of(struct fold *f, uint32_t parent, const struct view_node *n)
{
    uint64_t h = hash_word((uint64_t)parent << 32 | n->function);
    size_t at = (size_t)(h ^ h >> 32) & (f->size - 1);
    for (; f->slots[at]; at = (at + 1) & (f->size - 1)) {
        const struct view_node *known = &f->out->nodes[f->slots[at] - 1];
        if (known->parent == parent && known->function == n->function &&
            known->inlined == n->inlined)
            break;
    }
    return &f->slots[at];
}

/* The node of `out` for node i of `in`; VIEW_NONE without memory. */
static uint32_t place(struct fold *f, uint32_t i)
{
    const struct view_node *n = &f->in->nodes[i];
    uint32_t parent = f->to[n->parent];
    for (unsigned length = 1; length <= CYCLE_MAX; length++) {
        uint32_t back = cycle_end(f, parent, n->function, length);
        if (back == VIEW_NONE)
            continue;
        uint32_t above = i;
        for (unsigned k = 0; k < length; k++)
            above = f->in->nodes[above].parent;
        f->round[i] = f->to[above] == back ? f->round[above] + 1 : 2;
        if (f->round[i] > f->out->nodes[back].levels)
            f->out->nodes[back].levels = f->round[i];
        return back;
    }
    uint32_t *slot = slot_of(f, parent, n);
    f->round[i] = 1;
    if (!*slot) {
        uint32_t made = view_tree_add(f->out, parent, n->function, n->inlined);
        if (made == VIEW_NONE)
            return VIEW_NONE;
        f->out->nodes[made].levels = 1;
        *slot = made + 1;
    }
    uint32_t at = *slot - 1;
    f->out->nodes[at].calls = add_saturated(f->out->nodes[at].calls, n->calls);
    return at;
}

static bool nodes_place(struct fold *f)
{
    for (uint32_t i = 0; i < f->in->count; i++) {
        f->to[i] =
            i ? place(f, i) : view_tree_add(f->out, VIEW_NONE, f->in->nodes[0].function, false);
        if (f->to[i] == VIEW_NONE)
            return false;
        struct view_node *to = &f->out->nodes[f->to[i]];
        to->self = add_saturated(to->self, f->in->nodes[i].self);
        to->total = add_saturated(to->total, f->own[i]);
        uint64_t *weights = view_tree_weights(f->out, f->to[i]);
        for (uint32_t k = 0; k < f->out->metrics; k++)
            weights[k] = add_saturated(weights[k], weights_of(f, i)[k]);
    }
    return true;
}

/* Parents have smaller indexes than their children. */
static void totals_sum(struct view_tree *t)
{
    for (uint32_t i = t->count; i-- > 1;) {
        struct view_node *parent = &t->nodes[t->nodes[i].parent];
        parent->total = add_saturated(parent->total, t->nodes[i].total);
        uint64_t *weights = view_tree_weights(t, t->nodes[i].parent);
        for (uint32_t k = 0; k < t->metrics; k++)
            weights[k] = add_saturated(weights[k], view_tree_weights(t, i)[k]);
    }
}

bool fold_tree(const struct view *v, const struct view_tree *in, struct view_tree *out,
               struct err *e)
{
    struct fold f = { .in = in, .out = out, .size = 256 };
    *out = (struct view_tree){ .metrics = in->metrics };
    while (f.size < 2 * (size_t)in->count)
        f.size *= 2;
    f.to = calloc((size_t)in->count + 1, sizeof *f.to);
    f.round = calloc((size_t)in->count + 1, sizeof *f.round);
    f.own = calloc((size_t)in->count + 1, sizeof *f.own);
    f.slots = calloc(f.size, sizeof *f.slots);
    f.weights = calloc((size_t)in->count + 1, (in->metrics + 1) * sizeof *f.weights);
    bool ok = f.to && f.round && f.own && f.slots && f.weights;
    if (ok)
        owns_compute(&f);
    ok = ok && nodes_place(&f);
    if (ok)
        totals_sum(out);
    ok = ok && view_tree_link(v, out);
    free(f.to);
    free(f.round);
    free(f.own);
    free(f.slots);
    free(f.weights);
    if (ok)
        return true;
    view_tree_fini(out);
    return err_set(e, ERR_INTERNAL, "cannot fold recursion: out of memory");
}
