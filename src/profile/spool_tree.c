#include "profile/spool_view.h"

#include <stdlib.h>
#include <string.h>

/* A node that has been found and is still to be put out, under the node at index `parent`. */
struct pending {
    uint64_t key;
    spool_ref ref;
    uint32_t parent;
};

struct pending_stack {
    struct pending *items;
    size_t count, capacity;
};

struct walk {
    struct spool_view *v;
    struct pending_stack todo;   /* nodes in reverse preorder: the next one is last */
    struct pending_stack search; /* search-tree links still to follow among one node's children */
    struct profile_thread *t;
    uint32_t capacity;           /* of t->nodes */
    struct spool_tree_kind kind;
};

static bool push(struct pending_stack *s, struct pending item)
{
    if (s->count == s->capacity) {
        size_t capacity = s->capacity ? s->capacity * 2 : 1024;
        struct pending *items = realloc(s->items, capacity * sizeof *items);
        if (!items)
            return false;
        s->items = items;
        s->capacity = capacity;
    }
    s->items[s->count++] = item;
    return true;
}

/* Pops come from the end, so the largest comes first. */
static int compare_descending(const void *a, const void *b)
{
    const struct pending *x = a, *y = b;
    bool gx = key_guessed(x->key), gy = key_guessed(y->key);
    uint64_t kx = x->key & ~KEY_GUESSED, ky = y->key & ~KEY_GUESSED;
    if (kx != ky)
        return kx < ky ? 1 : -1;
    if (gx != gy)
        return gx < gy ? 1 : -1;
    return (x->ref < y->ref) - (x->ref > y->ref);
}

/* Puts all nodes of the search tree at `first` on the stack, as children of `parent`. A link is
 * read once, with acquire: it is stored with release after its node is complete (cct.h). */
static bool push_children(struct walk *w, spool_ref first, uint32_t parent)
{
    size_t start = w->todo.count;
    w->search.count = 0;
    if (!push(&w->search, (struct pending){.ref = first}))
        return false;
    while (w->search.count) {
        spool_ref ref = w->search.items[--w->search.count].ref;
        struct cct_node *n = spool_view_visit(w->v, ref, sizeof *n);
        if (!n)
            continue;
        spool_ref left = __atomic_load_n(&n->left, __ATOMIC_ACQUIRE);
        spool_ref right = __atomic_load_n(&n->right, __ATOMIC_ACQUIRE);
        uint64_t key = __atomic_load_n(&n->key, __ATOMIC_RELAXED);
        if (!push(&w->todo, (struct pending){.key = key, .ref = ref, .parent = parent}) ||
            (left && !push(&w->search, (struct pending){.ref = left})) ||
            (right && !push(&w->search, (struct pending){.ref = right})))
            return false;
    }
    if (w->todo.count - start > 1)
        qsort(w->todo.items + start, w->todo.count - start, sizeof *w->todo.items,
              compare_descending);
    return true;
}

/* No context has more live than it allocated. */
static void get_cell(struct walk *w, spool_ref ref, struct profile_node *n)
{
    const struct spool_heap_cell *cell = ref ? spool_view_visit(w->v, ref, sizeof *cell) : NULL;
    if (!cell)
        return;
    uint64_t live = __atomic_load_n(&cell->live, __ATOMIC_RELAXED);
    uint64_t peak = cell->stamp == w->kind.peak_id ? cell->saved : live;
    n->more[HEAP_LIVE - 1] = live < n->self ? live : n->self;
    n->more[HEAP_PEAK - 1] = peak < n->self ? peak : n->self;
}

static bool add_node(struct walk *w, const struct pending *item, const struct cct_node *n)
{
    struct profile_thread *t = w->t;
    if (t->node_count == w->capacity) {
        if (w->capacity > UINT32_MAX / 4)
            return false;
        uint32_t capacity = w->capacity ? w->capacity * 2 : 64;
        struct profile_node *nodes = realloc(t->nodes, capacity * sizeof *nodes);
        if (!nodes)
            return false;
        t->nodes = nodes;
        if (w->kind.refs) {
            spool_ref *refs = realloc(*w->kind.refs, capacity * sizeof *refs);
            if (!refs)
                return false;
            *w->kind.refs = refs;
        }
        w->capacity = capacity;
    }
    if (w->kind.refs)
        (*w->kind.refs)[t->node_count] = item->ref;
    unsigned image = key_image(item->key);
    t->nodes[t->node_count++] = (struct profile_node){
        .parent = item->parent,
        .subtree = 1,
        .image = image == KEY_IMAGE_PSEUDO ? PROFILE_IMAGE_PSEUDO
                 : image == 0              ? PROFILE_IMAGE_NONE
                                           : image,
        .guessed = key_guessed(item->key),
        .offset = key_offset(item->key),
        .self = spool_view_count(w->v, &n->samples),
    };
    struct profile_node *made = &t->nodes[t->node_count - 1];
    if (w->kind.heap)
        get_cell(w, __atomic_load_n(&n->cell, __ATOMIC_ACQUIRE), made);
    else
        made->calls = __atomic_load_n(&n->calls, __ATOMIC_RELAXED);
    return true;
}

static bool walk_tree(struct walk *w, spool_ref root, const struct cct_node *first)
{
    struct pending item = {.key = key_pseudo(KEY_ROOT), .ref = root, .parent = UINT32_MAX};
    uint64_t key = __atomic_load_n(&first->key, __ATOMIC_RELAXED);
    if (key != item.key)
        w->v->damage++;
    for (;;) {
        /* It was visited, so it is inside the spool. */
        const struct cct_node *n = spool_at(&w->v->spool, item.ref, sizeof *n);
        uint32_t index = w->t->node_count;
        spool_ref child = __atomic_load_n(&n->child, __ATOMIC_ACQUIRE);
        if (!add_node(w, &item, n) || (child && !push_children(w, child, index)))
            return false;
        if (!w->todo.count)
            return true;
        item = w->todo.items[--w->todo.count];
    }
}

bool spool_tree_read(struct spool_view *v, spool_ref root, struct spool_tree_kind kind,
                     struct profile_thread *t)
{
    struct walk w = {.v = v, .t = t, .kind = kind};
    t->nodes = NULL;
    t->node_count = 0;
    const struct cct_node *first = root ? spool_view_visit(v, root, sizeof *first) : NULL;
    if (!first)
        return true;
    bool ok = walk_tree(&w, root, first);
    for (uint32_t i = t->node_count; ok && i-- > 1;)
        t->nodes[t->nodes[i].parent].subtree += t->nodes[i].subtree;
    free(w.todo.items);
    free(w.search.items);
    return ok;
}
