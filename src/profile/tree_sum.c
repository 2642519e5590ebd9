#include "profile/tree_sum.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "profile/frames.h"
#include "sigsafe/hash.h"

static bool is_child(const struct profile_node *n, uint32_t parent, const struct frame *frame)
{
    struct frame of = frame_of(n);
    return n->parent == parent && frame_compare(&of, frame) == 0;
}

static uint32_t hash_of(uint32_t parent, const struct frame *frame)
{
    uint64_t h = hash_word(frame->offset ^ (uint64_t)frame->image << 40);
    h = (h ^ h >> 32 ^ parent ^ (uint64_t)frame->guessed << 32) * UINT64_C(0xff51afd7ed558ccd);
    return (uint32_t)(h >> 32);
}

static struct tree_sum_slot *find(const struct tree_sum *s, uint32_t parent,
                                  const struct frame *frame, uint32_t hash)
{
    uint32_t mask = s->capacity * 2 - 1, at = hash & mask;
    while (s->slots[at].node &&
           (s->slots[at].hash != hash ||
            !is_child(&s->nodes[s->slots[at].node - 1], parent, frame)))
        at = (at + 1) & mask;
    return &s->slots[at];
}

static void slot_put(struct tree_sum_slot *to, uint32_t count, struct tree_sum_slot slot)
{
    uint32_t at = slot.hash & (count - 1);
    while (to[at].node)
        at = (at + 1) & (count - 1);
    to[at] = slot;
}

/* All nodes: adopted ones are in no slot yet. */
static void slots_move(const struct tree_sum *s, struct tree_sum_slot *to, uint32_t count)
{
    for (uint32_t i = 0; s->slots && i < s->capacity * 2; i++)
        if (s->slots[i].node)
            slot_put(to, count, s->slots[i]);
    for (uint32_t i = 0; !s->slots && i < s->count; i++) {
        const struct frame frame = frame_of(&s->nodes[i]);
        slot_put(to, count, (struct tree_sum_slot){i + 1, hash_of(s->nodes[i].parent, &frame)});
    }
}

static bool grow(struct tree_sum *s)
{
    uint32_t capacity = 16;
    if (s->capacity > UINT32_MAX / 8)
        return false;
    while (capacity <= s->count)
        capacity *= 2;
    struct profile_node *nodes = realloc(s->nodes, capacity * sizeof *nodes);
    if (!nodes)
        return false;
    s->nodes = nodes;
    uint32_t *latest = realloc(s->latest, capacity * sizeof *latest);
    if (!latest)
        return false;
    s->latest = latest;
    if (!s->slots)
        memset(latest, 0, s->count * sizeof *latest);
    struct tree_sum_slot *slots = calloc((size_t)capacity * 2, sizeof *slots);
    if (!slots)
        return false;
    slots_move(s, slots, capacity * 2);
    free(s->slots);
    s->slots = slots;
    s->capacity = capacity;
    return true;
}

uint32_t tree_sum_node(struct tree_sum *s, uint32_t parent, const struct profile_node *n)
{
    if (s->count == s->capacity && !grow(s))
        return UINT32_MAX;
    /* Most nodes have one child. */
    const struct frame frame = frame_of(n);
    uint32_t likely = parent < s->count ? s->latest[parent] : 0;
    if (likely && is_child(&s->nodes[likely], parent, &frame))
        return likely;
    uint32_t hash = hash_of(parent, &frame);
    struct tree_sum_slot *slot = find(s, parent, &frame, hash);
    if (!slot->node) {
        s->latest[s->count] = 0;
        s->nodes[s->count++] = (struct profile_node){.parent = parent, .subtree = 1,
                                                     .image = n->image, .guessed = n->guessed,
                                                     .offset = n->offset};
        *slot = (struct tree_sum_slot){s->count, hash};
    }
    if (parent < s->count)
        s->latest[parent] = slot->node - 1;
    return slot->node - 1;
}

bool tree_sum_add(struct tree_sum *s, const struct profile_node *nodes, uint32_t count,
                  uint32_t *index_of)
{
    /* All roots are one, so that the sum has one. */
    struct profile_node root = {.image = PROFILE_IMAGE_PSEUDO, .offset = KEY_ROOT};
    if (count) {
        root.self = nodes[0].self;
        root.calls = nodes[0].calls;
        memcpy(root.more, nodes[0].more, sizeof root.more);
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct profile_node *n = i ? &nodes[i] : &root;
        uint32_t parent = i ? index_of[n->parent] : UINT32_MAX;
        index_of[i] = tree_sum_node(s, parent, n);
        if (index_of[i] == UINT32_MAX)
            return false;
        struct profile_node *to = &s->nodes[index_of[i]];
        to->self = add_saturated(to->self, n->self);
        to->calls = add_saturated(to->calls, n->calls);
        for (unsigned m = 0; m < METRICS_MAX - 1; m++)
            to->more[m] = add_saturated(to->more[m], n->more[m]);
    }
    return true;
}

void tree_sum_adopt(struct tree_sum *s, struct profile_node *nodes, uint32_t count,
                    uint32_t *index_of)
{
    for (uint32_t i = 0; i < count; i++) {
        nodes[i].subtree = 1;
        index_of[i] = i;
    }
    s->nodes = nodes;
    s->count = s->capacity = count;
}

struct sibling {
    struct frame frame;
    uint32_t index;
};

static int compare_siblings(const void *a, const void *b)
{
    const struct sibling *x = a, *y = b;
    return frame_compare(&x->frame, &y->frame);
}

/* Few nodes have many children. */
static void sort_siblings(struct sibling *list, uint32_t count)
{
    enum { FEW = 8 };
    if (count > FEW) {
        qsort(list, count, sizeof *list, compare_siblings);
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        const struct sibling one = list[i];
        uint32_t at = i;
        for (; at && compare_siblings(&list[at - 1], &one) > 0; at--)
            list[at] = list[at - 1];
        list[at] = one;
    }
}

/* Puts the children of one node in order. scratch: room for them. */
static void order_children(const struct tree_sum *s, uint32_t *children, uint32_t count,
                           struct sibling *scratch, bool *twins)
{
    for (uint32_t i = 0; i < count; i++)
        scratch[i] = (struct sibling){frame_of(&s->nodes[children[i]]), children[i]};
    sort_siblings(scratch, count);
    for (uint32_t i = 0; i < count; i++) {
        children[i] = scratch[i].index;
        *twins |= i && compare_siblings(&scratch[i - 1], &scratch[i]) == 0;
    }
}

/* All nodes but the root, those of an earlier parent first, siblings by their frames. end, one for
 * each node: scratch. *twins: whether siblings are of the same frame. */
static bool siblings_list(const struct tree_sum *s, uint32_t *list, uint32_t *end, bool *twins)
{
    uint32_t most = 0;
    memset(end, 0, s->count * sizeof *end);
    for (uint32_t i = 1; i < s->count; i++)
        end[s->nodes[i].parent]++;
    for (uint32_t i = 0, before = 0; i < s->count; i++) {
        uint32_t own = end[i];
        most = own > most ? own : most;
        end[i] = before;
        before += own;
    }
    for (uint32_t i = 1; i < s->count; i++)
        list[end[s->nodes[i].parent]++] = i;
    struct sibling *scratch = calloc((size_t)most + 1, sizeof *scratch);
    for (uint32_t i = 0; scratch && i < s->count; i++) {
        uint32_t begin = i ? end[i - 1] : 0;
        if (end[i] > begin + 1)
            order_children(s, list + begin, end[i] - begin, scratch, twins);
    }
    free(scratch);
    return scratch != NULL;
}

/* Gives every node its place in preorder. A parent arrived before its children, so its own place is
 * known: it hands its children their places in turn, each a subtree after the one before. */
static void place_nodes(const struct tree_sum *s, const uint32_t *siblings, uint32_t *place,
                        uint32_t *next)
{
    place[0] = 0;
    next[0] = 1;
    for (uint32_t i = 0; i + 1 < s->count; i++) {
        uint32_t node = siblings[i], parent = s->nodes[node].parent;
        place[node] = next[parent];
        next[parent] += s->nodes[node].subtree;
        next[node] = place[node] + 1;
    }
}

/* Moves each node to its place, along one cycle of places after another. from: scratch. */
static void nodes_move(const struct tree_sum *s, const uint32_t *place, uint32_t *from)
{
    for (uint32_t i = 0; i < s->count; i++)
        from[place[i]] = i;
    for (uint32_t i = 1; i < s->count; i++)
        s->nodes[i].parent = place[s->nodes[i].parent];
    for (uint32_t i = 0; i < s->count; i++) {
        if (from[i] == i)
            continue;
        const struct profile_node first = s->nodes[i];
        uint32_t at = i;
        for (uint32_t of = from[at]; of != i; of = from[at]) {
            s->nodes[at] = s->nodes[of];
            from[at] = at;
            at = of;
        }
        s->nodes[at] = first;
        from[at] = at;
    }
}

/* Puts the nodes in preorder, unless there are twins. */
static bool place_all(const struct tree_sum *s, uint32_t *place, bool *twins)
{
    uint32_t *siblings = calloc(s->count, sizeof *siblings);
    uint32_t *next = calloc(s->count, sizeof *next);
    bool ok = siblings && next && siblings_list(s, siblings, next, twins);
    if (ok && !*twins) {
        for (uint32_t i = s->count; i-- > 1;)
            s->nodes[s->nodes[i].parent].subtree += s->nodes[i].subtree;
        place_nodes(s, siblings, place, next);
        nodes_move(s, place, next);
    }
    free(siblings);
    free(next);
    return ok;
}

/* An adopted tree may have siblings of the same frame: they are added up. */
static struct profile_node *preorder_once(struct tree_sum *s, uint32_t *place)
{
    struct tree_sum once = {0};
    const uint32_t count = s->count;
    uint32_t *of = calloc(count, sizeof *of);
    bool ok = of && tree_sum_add(&once, s->nodes, count, place);
    struct profile_node *out = ok ? tree_sum_preorder(&once, of) : NULL;
    for (uint32_t i = 0; out && i < count; i++)
        place[i] = of[place[i]];
    free(of);
    if (out) {
        tree_sum_fini(s);
        s->count = once.count;
    }
    tree_sum_fini(&once);
    return out;
}

struct profile_node *tree_sum_preorder(struct tree_sum *s, uint32_t *place)
{
    bool twins = false;
    free(s->slots);
    free(s->latest);
    s->slots = NULL;
    s->latest = NULL;
    if (!place_all(s, place, &twins))
        return NULL;
    if (twins)
        return preorder_once(s, place);
    struct profile_node *all = s->nodes, *out = realloc(all, s->count * sizeof *out);
    s->nodes = NULL;
    s->capacity = 0;
    return out ? out : all;
}

void tree_sum_fini(struct tree_sum *s)
{
    free(s->nodes);
    free(s->slots);
    free(s->latest);
    *s = (struct tree_sum){0};
}
