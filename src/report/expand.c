#include "report/expand.h"

#include <stdlib.h>

#include "report/saturate.h"

/* A node of the view's tree, and how much of a derived node's total it brings. */
struct item {
    uint32_t node;
    uint32_t function; /* that of the node: what items are grouped by */
    bool inlined;
    uint64_t weight;
};

struct items {
    struct item *list;
    size_t count, capacity;
};

/* A derived node whose children have not been made yet. */
struct pending {
    uint32_t out; /* index in the derived tree */
    struct items items;
};

struct expansion {
    const struct view *view;
    struct expand_limits limits;
    bool up; /* towards callers, else towards callees */
    struct view_tree *out;
    struct pending *stack;
    size_t stack_count, stack_capacity;
};

static bool items_add(struct expansion *x, struct items *items, uint32_t node, uint64_t weight)
{
    if (!weight)
        return true;
    if (items->count == items->capacity) {
        size_t capacity = items->capacity ? items->capacity * 2 : 8;
        struct item *list = reallocarray(items->list, capacity, sizeof *list);
        if (!list)
            return false;
        items->list = list;
        items->capacity = capacity;
    }
    const struct view_node *n = &x->view->tree.nodes[node];
    items->list[items->count++] = (struct item){ node, n->function, n->inlined, weight };
    return true;
}

static int item_compare(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    if (x->inlined != y->inlined)
        return x->inlined - y->inlined;
    return x->node < y->node ? -1 : x->node > y->node;
}

static bool pending_push(struct expansion *x, uint32_t out, struct items items)
{
    if (x->stack_count == x->stack_capacity) {
        size_t capacity = x->stack_capacity ? x->stack_capacity * 2 : 64;
        struct pending *stack = reallocarray(x->stack, capacity, sizeof *stack);
        if (!stack)
            return false;
        x->stack = stack;
        x->stack_capacity = capacity;
    }
    x->stack[x->stack_count++] = (struct pending){ out, items };
    return true;
}

/* The part of an item's weight that is self: all of it at the first level of bottom-up trees, the
 * node's own samples in top-down ones. */
static uint64_t item_self(const struct expansion *x, const struct item *item, uint32_t parent)
{
    if (!x->up)
        return x->view->tree.nodes[item->node].self;
    return parent == 0 ? item->weight : 0;
}

/* Makes one derived node of a group of items with the same function. */
static bool group_add(struct expansion *x, uint32_t parent, const struct item *group, size_t count)
{
    uint64_t total = 0, self = 0;
    for (size_t i = 0; i < count; i++) {
        total = add_saturated(total, group[i].weight);
        self = add_saturated(self, item_self(x, &group[i], parent));
    }
    if (total < x->limits.min || x->out->nodes[parent].depth >= x->limits.depth)
        return true;
    uint32_t node = view_tree_add(x->out, parent, group[0].function, group[0].inlined);
    if (node == VIEW_NONE)
        return false;
    x->out->nodes[node].total = total;
    x->out->nodes[node].self = self;
    struct items copy = { 0 };
    bool ok = true;
    for (size_t i = 0; i < count && ok; i++)
        ok = items_add(x, &copy, group[i].node, group[i].weight);
    if (ok && pending_push(x, node, copy))
        return true;
    free(copy.list);
    return false;
}

static bool groups_add(struct expansion *x, uint32_t parent, struct items *items)
{
    if (items->count)
        qsort(items->list, items->count, sizeof *items->list, item_compare);
    for (size_t first = 0; first < items->count;) {
        size_t end = first + 1;
        while (end < items->count && items->list[end].function == items->list[first].function
               && items->list[end].inlined == items->list[first].inlined)
            end++;
        if (!group_add(x, parent, &items->list[first], end - first))
            return false;
        first = end;
    }
    return true;
}

static bool step(struct expansion *x, const struct items *from, struct items *to)
{
    const struct view_node *nodes = x->view->tree.nodes;
    for (size_t i = 0; i < from->count; i++) {
        const struct item *item = &from->list[i];
        if (x->up) {
            uint32_t parent = nodes[item->node].parent;
            /* The root of the tree is nobody's caller. */
            if (parent != 0 && parent != VIEW_NONE && !items_add(x, to, parent, item->weight))
                return false;
            continue;
        }
        for (uint32_t c = nodes[item->node].first_child; c != VIEW_NONE;
             c = nodes[c].next_sibling)
            if (!items_add(x, to, c, nodes[c].total))
                return false;
    }
    return true;
}

/* Consumes the first level's items. */
static bool expand(struct expansion *x, struct items *first, struct err *e)
{
    *x->out = (struct view_tree){ 0 };
    bool ok = view_tree_add(x->out, VIEW_NONE, VIEW_NONE, false) != VIEW_NONE;
    for (size_t i = 0; ok && i < first->count; i++)
        x->out->nodes[0].total = add_saturated(x->out->nodes[0].total, first->list[i].weight);
    ok = ok && groups_add(x, 0, first);
    while (ok && x->stack_count) {
        struct pending pending = x->stack[--x->stack_count];
        struct items next = { 0 };
        ok = step(x, &pending.items, &next) && groups_add(x, pending.out, &next);
        free(next.list);
        free(pending.items.list);
    }
    while (x->stack_count)
        free(x->stack[--x->stack_count].items.list);
    free(x->stack);
    free(first->list);
    ok = ok && view_tree_link(x->view, x->out);
    if (ok)
        return true;
    free(x->out->nodes);
    *x->out = (struct view_tree){ 0 };
    return err_set(e, ERR_INTERNAL, "cannot expand the call tree: out of memory");
}

static bool out_of_memory(struct items *items, struct err *e)
{
    free(items->list);
    return err_set(e, ERR_INTERNAL, "cannot expand the call tree: out of memory");
}

bool expand_bottom_up(const struct view *v, struct expand_limits limits, struct view_tree *out,
                      struct err *e)
{
    struct expansion x = { .view = v, .limits = limits, .up = true, .out = out };
    struct items items = { 0 };
    *out = (struct view_tree){ 0 };
    for (uint32_t i = 1; i < v->tree.count; i++)
        if (!items_add(&x, &items, i, v->tree.nodes[i].self))
            return out_of_memory(&items, e);
    return expand(&x, &items, e);
}

bool expand_callers(const struct view *v, const bool *chosen, struct expand_limits limits,
                    struct view_tree *out, struct err *e)
{
    struct expansion x = { .view = v, .limits = limits, .up = true, .out = out };
    struct items items = { 0 };
    const struct view_tree *t = &v->tree;
    *out = (struct view_tree){ 0 };
    /* below[i]: what of node i's total passes through a chosen frame below it. */
    uint64_t *below = calloc(t->count, sizeof *below);
    bool ok = below;
    for (uint32_t i = t->count; ok && i-- > 1;) {
        const struct view_node *n = &t->nodes[i];
        bool is_chosen = chosen[n->function];
        if (is_chosen)
            ok = items_add(&x, &items, i, n->total - below[i]);
        uint64_t passed = is_chosen ? n->total : below[i];
        below[n->parent] = add_saturated(below[n->parent], passed);
    }
    free(below);
    return ok ? expand(&x, &items, e) : out_of_memory(&items, e);
}

bool expand_callees(const struct view *v, const bool *chosen, struct expand_limits limits,
                    struct view_tree *out, struct err *e)
{
    struct expansion x = { .view = v, .limits = limits, .up = false, .out = out };
    struct items items = { 0 };
    const struct view_tree *t = &v->tree;
    *out = (struct view_tree){ 0 };
    bool ok = true;
    for (uint32_t i = view_tree_next(t, 0, false); ok && i != VIEW_NONE;) {
        bool is_chosen = chosen[t->nodes[i].function];
        if (is_chosen)
            ok = items_add(&x, &items, i, t->nodes[i].total);
        i = view_tree_next(t, i, is_chosen);
    }
    return ok ? expand(&x, &items, e) : out_of_memory(&items, e);
}
