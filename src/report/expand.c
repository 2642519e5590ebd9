#include "report/expand.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/saturate.h"

/* A node of the view's tree, and how much of a derived node's total it brings. */
struct item {
    uint32_t node;
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

/* Items with the same function, which make one derived node. */
struct group {
    uint32_t node; /* any one of them, for the function */
    uint64_t total, self;
    size_t count;
    uint32_t out; /* the derived node, or VIEW_NONE if it is too small */
    struct items items;
};

struct expansion {
    const struct view *view;
    struct expand_limits limits;
    bool up; /* towards callers, else towards callees */
    struct view_tree *out;
    struct pending *stack;
    size_t stack_count, stack_capacity;
    uint32_t *group_of; /* by function and inlined: index + 1 in groups; all 0 between uses */
    uint32_t *item_of;  /* by node: index + 1 in the list being made; all 0 between uses */
    struct group *groups;
    size_t group_count, group_capacity;
};

static bool items_add(struct items *items, uint32_t node, uint64_t weight)
{
    if (!weight)
        return true;
    if (!ARRAY_ROOM(items->list, items->count, items->capacity))
        return false;
    items->list[items->count++] = (struct item){ node, weight };
    return true;
}

static bool pending_push(struct expansion *x, uint32_t out, struct items items)
{
    if (!ARRAY_ROOM(x->stack, x->stack_count, x->stack_capacity))
        return false;
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

static size_t group_key(const struct expansion *x, uint32_t node)
{
    const struct view_node *n = &x->view->tree.nodes[node];
    return (size_t)n->function * 2 + n->inlined;
}

/* The group of the item's function; NULL without memory. */
static struct group *group_find(struct expansion *x, uint32_t node)
{
    uint32_t *index = &x->group_of[group_key(x, node)];
    if (*index)
        return &x->groups[*index - 1];
    if (!ARRAY_ROOM(x->groups, x->group_count, x->group_capacity))
        return NULL;
    x->groups[x->group_count++] = (struct group){ .node = node, .out = VIEW_NONE };
    *index = (uint32_t)x->group_count;
    return &x->groups[x->group_count - 1];
}

static bool groups_fill(struct expansion *x, uint32_t parent, const struct items *items)
{
    for (size_t i = 0; i < items->count; i++) {
        const struct item *item = &items->list[i];
        struct group *group = group_find(x, item->node);
        if (!group)
            return false;
        group->total = add_saturated(group->total, item->weight);
        group->self = add_saturated(group->self, item_self(x, item, parent));
        group->count++;
    }
    return true;
}

/* Makes derived nodes of the groups that are large enough. */
static bool groups_make_nodes(struct expansion *x, uint32_t parent)
{
    bool too_deep = x->out->nodes[parent].depth >= x->limits.depth;
    for (size_t i = 0; i < x->group_count && !too_deep; i++) {
        struct group *group = &x->groups[i];
        if (group->total < x->limits.min)
            continue;
        const struct view_node *n = &x->view->tree.nodes[group->node];
        group->out = view_tree_add(x->out, parent, n->function, n->inlined);
        group->items.list = calloc(group->count, sizeof *group->items.list);
        if (group->out == VIEW_NONE || !group->items.list)
            return false;
        group->items.capacity = group->count;
        x->out->nodes[group->out].total = group->total;
        x->out->nodes[group->out].self = group->self;
    }
    return true;
}

static void groups_clear(struct expansion *x)
{
    for (size_t i = 0; i < x->group_count; i++) {
        x->group_of[group_key(x, x->groups[i].node)] = 0;
        free(x->groups[i].items.list);
    }
    x->group_count = 0;
}

/* Makes the derived nodes below parent, one for each function among the items. */
static bool groups_add(struct expansion *x, uint32_t parent, const struct items *items)
{
    bool ok = groups_fill(x, parent, items) && groups_make_nodes(x, parent);
    for (size_t i = 0; ok && i < items->count; i++) {
        struct group *group = group_find(x, items->list[i].node);
        if (group->out != VIEW_NONE)
            group->items.list[group->items.count++] = items->list[i];
    }
    for (size_t i = 0; ok && i < x->group_count; i++) {
        struct group *group = &x->groups[i];
        if (group->out == VIEW_NONE)
            continue;
        ok = pending_push(x, group->out, group->items);
        if (ok)
            group->items = (struct items){ 0 };
    }
    groups_clear(x);
    return ok;
}

/* The callers of the items, each once. */
static bool step_up(struct expansion *x, const struct items *from, struct items *to)
{
    bool ok = true;
    for (size_t i = 0; ok && i < from->count; i++) {
        uint32_t parent = x->view->tree.nodes[from->list[i].node].parent;
        /* The root of the tree is nobody's caller. */
        if (parent == 0 || parent == VIEW_NONE)
            continue;
        if (x->item_of[parent]) {
            uint64_t *weight = &to->list[x->item_of[parent] - 1].weight;
            *weight = add_saturated(*weight, from->list[i].weight);
            continue;
        }
        ok = items_add(to, parent, from->list[i].weight);
        x->item_of[parent] = (uint32_t)to->count;
    }
    for (size_t i = 0; i < to->count; i++)
        x->item_of[to->list[i].node] = 0;
    return ok;
}

static bool step_down(struct expansion *x, const struct items *from, struct items *to)
{
    const struct view_node *nodes = x->view->tree.nodes;
    for (size_t i = 0; i < from->count; i++)
        for (uint32_t c = nodes[from->list[i].node].first_child; c != VIEW_NONE;
             c = nodes[c].next_sibling)
            if (!items_add(to, c, nodes[c].total))
                return false;
    return true;
}

/* Consumes the first level's items. */
static bool expand(struct expansion *x, struct items *first, struct err *e)
{
    *x->out = (struct view_tree){ 0 };
    x->group_of = calloc((size_t)x->view->function_count * 2 + 1, sizeof *x->group_of);
    x->item_of = calloc(x->view->tree.count, sizeof *x->item_of);
    bool ok = x->group_of && x->item_of
        && view_tree_add(x->out, VIEW_NONE, VIEW_NONE, false) != VIEW_NONE;
    for (size_t i = 0; ok && i < first->count; i++)
        x->out->nodes[0].total = add_saturated(x->out->nodes[0].total, first->list[i].weight);
    ok = ok && groups_add(x, 0, first);
    while (ok && x->stack_count) {
        struct pending pending = x->stack[--x->stack_count];
        struct items next = { 0 };
        ok = (x->up ? step_up : step_down)(x, &pending.items, &next)
            && groups_add(x, pending.out, &next);
        free(next.list);
        free(pending.items.list);
    }
    while (x->stack_count)
        free(x->stack[--x->stack_count].items.list);
    free(x->stack);
    free(x->groups);
    free(x->group_of);
    free(x->item_of);
    free(first->list);
    ok = ok && view_tree_link(x->view, x->out);
    if (ok)
        return true;
    view_tree_fini(x->out);
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
        if (!items_add(&items, i, v->tree.nodes[i].self))
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
            ok = items_add(&items, i, n->total - below[i]);
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
            ok = items_add(&items, i, t->nodes[i].total);
        i = view_tree_next(t, i, is_chosen);
    }
    return ok ? expand(&x, &items, e) : out_of_memory(&items, e);
}
