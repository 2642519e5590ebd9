#include "report/totals.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"

void totals_of_nodes(struct view_tree *t)
{
    for (uint32_t i = 0; i < t->count; i++)
        t->nodes[i].total = t->nodes[i].self;
    /* Parents come before their children. */
    for (uint32_t i = t->count; i-- > 1;) {
        uint64_t *total = &t->nodes[t->nodes[i].parent].total;
        *total = add_saturated(*total, t->nodes[i].total);
    }
}

/* Own weights by all metrics become totals; functions keep their own. */
static bool totals_of_weights(struct view *v)
{
    struct view_tree *t = &v->tree;
    v->function_weights =
        calloc((size_t)v->function_count + 1, (t->metrics + 1) * sizeof *v->function_weights);
    for (uint32_t i = t->count; v->function_weights && i-- > 0;) {
        uint64_t *own = v->function_weights + (size_t)t->nodes[i].function * t->metrics;
        for (uint32_t k = 0; k < t->metrics; k++)
            own[k] = add_saturated(own[k], view_tree_weights(t, i)[k]);
    }
    for (uint32_t i = t->count; v->function_weights && i-- > 1;) {
        uint64_t *totals = view_tree_weights(t, t->nodes[i].parent);
        for (uint32_t k = 0; k < t->metrics; k++)
            totals[k] = add_saturated(totals[k], view_tree_weights(t, i)[k]);
    }
    return v->function_weights;
}

struct link_context {
    const struct view *view;
    const struct view_node *nodes;
};

static int function_name_compare(const struct view_function *a, const struct view_function *b)
{
    int order = strcmp(a->name, b->name);
    if (!order)
        order = strcmp(a->image_name, b->image_name);
    if (!order)
        order = strcmp(a->file, b->file);
    if (!order && a->line != b->line)
        order = a->line < b->line ? -1 : 1;
    return order;
}

/* Siblings together, smallest first: linking prepends. */
static int link_compare(const void *a, const void *b, void *context)
{
    const struct link_context *c = context;
    const struct view_node *x = &c->nodes[*(const uint32_t *)a];
    const struct view_node *y = &c->nodes[*(const uint32_t *)b];
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    if (x->total != y->total)
        return x->total < y->total ? -1 : 1;
    int order = -function_name_compare(&c->view->functions[x->function],
                                       &c->view->functions[y->function]);
    if (!order)
        order = x->inlined - y->inlined;
    return order ? order : (x < y) - (x > y);
}

bool view_tree_link(const struct view *v, struct view_tree *t)
{
    if (t->count < 2)
        return true;
    uint32_t *order = calloc(t->count, sizeof *order);
    if (!order)
        return false;
    for (uint32_t i = 1; i < t->count; i++)
        order[i - 1] = i;
    struct link_context context = { v, t->nodes };
    qsort_r(order, t->count - 1, sizeof *order, link_compare, &context);
    for (uint32_t i = 0; i < t->count - 1; i++) {
        struct view_node *n = &t->nodes[order[i]];
        n->next_sibling = t->nodes[n->parent].first_child;
        t->nodes[n->parent].first_child = order[i];
    }
    free(order);
    return true;
}

uint32_t view_tree_next(const struct view_tree *t, uint32_t node, bool skip)
{
    if (!skip && t->nodes[node].first_child != VIEW_NONE)
        return t->nodes[node].first_child;
    while (node != VIEW_NONE && t->nodes[node].next_sibling == VIEW_NONE)
        node = t->nodes[node].parent;
    return node == VIEW_NONE ? VIEW_NONE : t->nodes[node].next_sibling;
}

/* Walks the tree in preorder and calls back when a node is entered that is the first of its class
 * on its path. class_of: class of every node. on_path: zeroed counters, one a class. */
static void walk_classes(const struct view_tree *t, const uint32_t *class_of, uint32_t *on_path,
                         void (*first)(uint32_t node, void *context), void *context)
{
    uint32_t node = 0;
    for (;;) {
        if (on_path[class_of[node]]++ == 0)
            first(node, context);
        if (t->nodes[node].first_child != VIEW_NONE) {
            node = t->nodes[node].first_child;
            continue;
        }
        while (node != VIEW_NONE && t->nodes[node].next_sibling == VIEW_NONE) {
            on_path[class_of[node]]--;
            node = t->nodes[node].parent;
        }
        if (node == VIEW_NONE)
            return;
        on_path[class_of[node]]--;
        node = t->nodes[node].next_sibling;
    }
}

static void function_enter(uint32_t node, void *context)
{
    struct view *v = context;
    struct view_function *f = &v->functions[v->tree.nodes[node].function];
    f->total = add_saturated(f->total, v->tree.nodes[node].total);
}

static bool totals_of_functions(struct view *v)
{
    struct view_tree *t = &v->tree;
    uint32_t *class_of = calloc(t->count, sizeof *class_of);
    uint32_t *on_path = calloc(v->function_count, sizeof *on_path);
    bool ok = class_of && on_path;
    for (uint32_t i = 0; ok && i < t->count; i++) {
        class_of[i] = t->nodes[i].function;
        uint64_t *self = &v->functions[t->nodes[i].function].self;
        *self = add_saturated(*self, t->nodes[i].self);
    }
    if (ok)
        walk_classes(t, class_of, on_path, function_enter, v);
    free(class_of);
    free(on_path);
    return ok;
}

bool totals_compute(struct view *v, struct err *e)
{
    totals_of_nodes(&v->tree);
    bool ok = !v->tree.metrics || totals_of_weights(v);
    v->samples = v->tree.nodes[0].total;
    if (ok && view_tree_link(v, &v->tree) && totals_of_functions(v))
        return true;
    return err_set(e, ERR_INTERNAL, "cannot add up the report: out of memory");
}

struct image_walk {
    const struct view *view;
    struct image_total *totals;
    const uint32_t *class_of;
};

static void image_enter(uint32_t node, void *context)
{
    struct image_walk *w = context;
    uint64_t *total = &w->totals[w->class_of[node]].total;
    *total = add_saturated(*total, w->view->tree.nodes[node].total);
}

static int image_compare(const void *a, const void *b)
{
    const struct image_total *x = a, *y = b;
    if (x->self != y->self)
        return x->self > y->self ? -1 : 1;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    if (x->image != y->image)
        return x->image < y->image ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* In no image: generated code, entities of each kind that is known, and of others. */
enum { PLACES = ENTITY_KIND_COUNT + 2 };

/* Classes: the images, then what is in none, then pseudo. */
static uint32_t image_class(const struct profile *p, struct image_total *totals,
                            const struct view_function *f)
{
    uint32_t at = p->image_count;
    if (f->image < p->image_count)
        return f->image;
    if (f->image != PROFILE_IMAGE_NONE)
        return at + PLACES;
    while (totals[at].name && strcmp(totals[at].name, f->image_name) != 0)
        at++;
    totals[at].name = f->image_name;
    return at;
}

static void images_fill(const struct view *v, struct image_total *totals, uint32_t *class_of,
                        uint32_t *on_path)
{
    const struct profile *p = v->profile;
    for (uint32_t i = 0; i < p->image_count; i++)
        totals[i] = (struct image_total){.image = i, .name = symbols_image_name(v->symbols, i)};
    for (uint32_t i = 0; i < PLACES; i++)
        totals[p->image_count + i].image = PROFILE_IMAGE_NONE;
    totals[p->image_count + PLACES].image = PROFILE_IMAGE_PSEUDO;
    for (uint32_t i = 0; i < v->tree.count; i++) {
        const struct view_node *n = &v->tree.nodes[i];
        class_of[i] = image_class(p, totals, &v->functions[n->function]);
        totals[class_of[i]].self = add_saturated(totals[class_of[i]].self, n->self);
    }
    struct image_walk walk = { v, totals, class_of };
    walk_classes(&v->tree, class_of, on_path, image_enter, &walk);
}

struct image_total *totals_of_images(const struct view *v, uint32_t *count, struct err *e)
{
    uint32_t classes = v->profile->image_count + PLACES + 1;
    struct image_total *totals = calloc(classes, sizeof *totals);
    uint32_t *class_of = calloc(v->tree.count, sizeof *class_of);
    uint32_t *on_path = calloc(classes, sizeof *on_path);
    *count = 0;
    if (totals && class_of && on_path) {
        images_fill(v, totals, class_of, on_path);
        /* The last class, pseudo nodes, holds the root: not an image. */
        for (uint32_t i = 0; i < classes - 1; i++)
            if (totals[i].total)
                totals[(*count)++] = totals[i];
        qsort(totals, *count, sizeof *totals, image_compare);
    } else {
        free(totals);
        totals = NULL;
        err_set(e, ERR_INTERNAL, "cannot add up images: out of memory");
    }
    free(class_of);
    free(on_path);
    return totals;
}

static int order_compare(const void *a, const void *b, void *context)
{
    const struct view_function *functions = context;
    const struct view_function *x = &functions[*(const uint32_t *)a];
    const struct view_function *y = &functions[*(const uint32_t *)b];
    if (x->self != y->self)
        return x->self > y->self ? -1 : 1;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    int order = function_name_compare(x, y);
    return order ? order : (x > y) - (x < y);
}

uint32_t *view_order(const struct view *v, uint32_t *count, struct err *e)
{
    uint32_t *order = calloc((size_t)v->function_count + 1, sizeof *order);
    *count = 0;
    if (!order) {
        err_set(e, ERR_INTERNAL, "cannot sort functions: out of memory");
        return NULL;
    }
    for (uint32_t i = 0; i < v->function_count; i++) {
        const struct view_function *f = &v->functions[i];
        bool root = f->image == PROFILE_IMAGE_PSEUDO && f->start == KEY_ROOT;
        if (!root && f->total)
            order[(*count)++] = i;
    }
    qsort_r(order, *count, sizeof *order, order_compare, v->functions);
    return order;
}
