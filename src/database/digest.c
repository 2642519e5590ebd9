#include "database/digest.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"

struct bounding {
    struct group *groups;
    uint32_t count;
    double *worth;  /* of a weight of 1, by group */
    uint64_t *first; /* by group: where its nodes are in the next two */
    uint64_t *sub;  /* by node: weight of its subtree */
    bool *kept;
    uint64_t *ranks; /* of what may be kept, in the nodes' order: the greater, the worthier */
    uint64_t nodes;
};

static uint64_t nodes_of(const struct group *groups, uint32_t count)
{
    uint64_t nodes = 0;
    for (uint32_t i = 0; i < count; i++)
        nodes += groups[i].tree.count;
    return nodes;
}

static void worths_find(struct bounding *b)
{
    double all = 0, used = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        all += (double)b->groups[i].totals.weight;
        used += b->groups[i].totals.weight != 0;
    }
    for (uint32_t i = 0; i < b->count; i++) {
        double own = (double)b->groups[i].totals.weight;
        b->worth[i] = own > 0 ? 1 / all + 1 / (own * used) : 0;
    }
}

/* A parent is before its children. */
static void subtrees_sum(struct bounding *b)
{
    uint64_t at = 0;
    for (uint32_t g = 0; g < b->count; g++) {
        const struct tree_sum *tree = &b->groups[g].tree;
        uint64_t *sub = b->sub + at;
        b->first[g] = at;
        at += tree->count;
        for (uint32_t i = 0; i < tree->count; i++)
            sub[i] = tree->nodes[i].self;
        for (uint32_t i = tree->count; i-- > 1;)
            sub[tree->nodes[i].parent] = add_saturated(sub[tree->nodes[i].parent], sub[i]);
    }
}

static bool begin(struct bounding *b)
{
    b->nodes = nodes_of(b->groups, b->count);
    b->worth = calloc((size_t)b->count + 1, sizeof *b->worth);
    b->first = calloc((size_t)b->count + 1, sizeof *b->first);
    b->sub = calloc(b->nodes + 1, sizeof *b->sub);
    b->kept = calloc(b->nodes + 1, sizeof *b->kept);
    b->ranks = calloc(b->nodes + 1, sizeof *b->ranks);
    if (!b->worth || !b->first || !b->sub || !b->kept || !b->ranks)
        return false;
    worths_find(b);
    subtrees_sum(b);
    return true;
}

static void end(struct bounding *b)
{
    free(b->worth);
    free(b->first);
    free(b->sub);
    free(b->kept);
    free(b->ranks);
}

/* What hangs below [folded] is one function deep. */
static bool is_leaf(const struct tree_sum *tree, uint32_t node)
{
    uint32_t parent = tree->nodes[node].parent;
    return parent < node && answer_is_folded(&tree->nodes[parent]);
}

/* Positive doubles are ordered as their bits are. */
static uint64_t rank_of(double worth)
{
    uint64_t bits;
    memcpy(&bits, &worth, sizeof bits);
    return bits;
}

/* The least of the `most` greatest ranks, of which there are more; *equal: how many of those that
 * are as great are among them. By their digits, the highest first. */
static uint64_t rank_least(const uint64_t *ranks, uint64_t count, uint64_t most, uint64_t *equal)
{
    enum { BITS = 8, DIGITS = 1 << BITS };
    uint64_t known = 0, mask = 0;
    for (int shift = 64 - BITS; shift >= 0; shift -= BITS) {
        uint64_t counts[DIGITS] = {0}, digit = DIGITS - 1;
        for (uint64_t i = 0; i < count; i++)
            if ((ranks[i] & mask) == known)
                counts[ranks[i] >> shift & (DIGITS - 1)]++;
        while (counts[digit] < most)
            most -= counts[digit--];
        known |= digit << shift;
        mask |= (uint64_t)(DIGITS - 1) << shift;
    }
    *equal = most;
    return known;
}

static bool may_be_kept(const struct tree_sum *tree, uint32_t node, bool leaves)
{
    return !answer_is_folded(&tree->nodes[node]) && is_leaf(tree, node) == leaves;
}

/* Keeps `most` of the nodes that are leaves, or of the others, without [folded] itself: the
 * worthiest, of equals those that arrived first, as a parent does. */
static void choose(struct bounding *b, bool leaves, uint32_t most)
{
    uint64_t count = 0, at = 0, least = 0, equal = UINT64_MAX;
    for (uint32_t g = 0; g < b->count; g++)
        for (uint32_t i = 0; i < b->groups[g].tree.count; i++)
            if (may_be_kept(&b->groups[g].tree, i, leaves))
                b->ranks[count++] = rank_of((double)b->sub[b->first[g] + i] * b->worth[g]);
    if (count > most && most)
        least = rank_least(b->ranks, count, most, &equal);
    for (uint32_t g = 0; g < b->count && most; g++)
        for (uint32_t i = 0; i < b->groups[g].tree.count; i++) {
            if (!may_be_kept(&b->groups[g].tree, i, leaves))
                continue;
            uint64_t rank = b->ranks[at++];
            bool *kept = &b->kept[b->first[g] + i];
            *kept = rank > least || (rank == least && equal);
            equal -= rank == least && equal;
        }
}

/* Where the tree has the node `n` below `parent`, with so much more weight. */
static uint32_t add(struct tree_sum *tree, uint32_t parent, const struct profile_node *n,
                    uint64_t weight)
{
    uint32_t at = tree_sum_node(tree, parent, n);
    if (at != UINT32_MAX)
        tree->nodes[at].self = add_saturated(tree->nodes[at].self, weight);
    return at;
}

/* What takes over a node of the old tree: adds it below `above` in the new one, or leaves its
 * weight there. Returns where its children go; UINT32_MAX without memory. */
typedef uint32_t taker(struct tree_sum *made, const struct tree_sum *old, uint32_t node, bool kept,
                       uint32_t above);

static uint32_t path_take(struct tree_sum *made, const struct tree_sum *old, uint32_t node,
                          bool kept, uint32_t above)
{
    static const struct profile_node folded = {.image = PROFILE_IMAGE_PSEUDO, .offset = KEY_FOLDED};
    const struct profile_node *n = &old->nodes[node];
    if (kept || !node)
        return add(made, above, n, n->self);
    if (!n->self)
        return above;
    bool plain = answer_is_folded(n);
    uint32_t at = add(made, above, &folded, plain ? n->self : 0);
    if (at != UINT32_MAX && !plain)
        at = add(made, at, n, n->self);
    return at == UINT32_MAX ? at : above;
}

static uint32_t leaf_take(struct tree_sum *made, const struct tree_sum *old, uint32_t node,
                          bool kept, uint32_t above)
{
    const struct profile_node *n = &old->nodes[node];
    if (kept || !is_leaf(old, node))
        return add(made, above, n, n->self);
    made->nodes[above].self = add_saturated(made->nodes[above].self, n->self);
    return above;
}

static bool rebuild(struct tree_sum *tree, const bool *kept, taker *take)
{
    struct tree_sum made = {0};
    uint32_t *place = calloc((size_t)tree->count + 1, sizeof *place);
    bool ok = place;
    for (uint32_t i = 0; ok && i < tree->count; i++) {
        uint32_t above = i ? place[tree->nodes[i].parent] : UINT32_MAX;
        place[i] = take(&made, tree, i, kept[i], above);
        ok = place[i] != UINT32_MAX;
    }
    free(place);
    tree_sum_fini(ok ? tree : &made);
    if (ok)
        *tree = made;
    return ok;
}

/* Bounds the nodes that are leaves, or the others. */
static bool bound(struct group *groups, uint32_t count, bool leaves, uint32_t most)
{
    struct bounding b = {.groups = groups, .count = count};
    bool ok = begin(&b);
    if (ok)
        choose(&b, leaves, most);
    for (uint32_t g = 0; ok && g < count; g++)
        ok = rebuild(&groups[g].tree, b.kept + b.first[g], leaves ? leaf_take : path_take);
    end(&b);
    return ok;
}

bool digest_bound(struct group *groups, uint32_t count, uint32_t most)
{
    return nodes_of(groups, count) <= 2 * (uint64_t)most ||
           (bound(groups, count, false, most / 2) && bound(groups, count, true, most / 2));
}
