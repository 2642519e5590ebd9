/* Calling context trees. */
#include <stdlib.h>
#include <string.h>

#include "profile/kind/kind.h"
#include "profile/shares.h"
#include "profile/timeline.h"

enum { TREES_MOST = 1024 }; /* that threads are added up to: they are searched one by one */
enum { COLUMN_CHILDREN, COLUMN_FRAMES, COLUMN_SELF, COLUMN_CALLS, COLUMNS };

/* One thread's nodes, each to the end of every column. The nodes are known to be in preorder.
 * frame_of: as in struct encoder, from the thread's first node on. */
static bool put_tree(struct buf *columns, const struct profile_thread *t, const struct frames *f,
                     const uint32_t *frame_of)
{
    uint32_t n = t->node_count;
    uint32_t *children = calloc(n, sizeof *children);
    uint32_t *last = calloc(n, sizeof *last); /* frame of the last child so far */
    bool ok = children && last;
    for (uint32_t i = 1; ok && i < n; i++)
        children[t->nodes[i].parent]++;
    for (uint32_t i = 0; ok && i < n; i++) {
        const struct profile_node *node = &t->nodes[i];
        uint32_t frame = f->rank[frame_of[i]];
        uint32_t before = i ? last[node->parent] : 0;
        buf_put_uleb(&columns[COLUMN_CHILDREN], children[i]);
        buf_put_sleb(&columns[COLUMN_FRAMES], (int64_t)frame - (int64_t)before);
        buf_put_uleb(&columns[COLUMN_SELF], node->self);
        buf_put_uleb(&columns[COLUMN_CALLS], node->calls);
        if (i)
            last[node->parent] = frame;
    }
    free(children);
    free(last);
    return ok;
}

static void put(struct buf *b, const struct encoder *x)
{
    struct buf columns[COLUMNS] = {{0}};
    const uint32_t *frame_of = x->frame_of;
    for (uint32_t i = 0; i < x->p->thread_count; i++) {
        const struct profile_thread *t = &x->p->threads[i];
        if (t->node_count && !put_tree(columns, t, &x->frames, frame_of))
            b->failed = true;
        frame_of += t->node_count;
    }
    for (unsigned i = 0; i < COLUMNS; i++)
        buf_put_uleb(b, columns[i].size);
    for (unsigned i = 0; i < COLUMNS; i++) {
        b->failed |= !buf_ok(&columns[i]);
        buf_put(b, columns[i].data, columns[i].size);
        buf_free(&columns[i]);
    }
}

/* In preorder, the parent of a node is the node before it or an ancestor of that one. The climb is
 * paid for by the descents before it, so this is linear. */
static bool tree_good(const struct profile *p, const struct profile_thread *t)
{
    for (uint32_t i = 0; i < t->node_count; i++) {
        const struct profile_node *n = &t->nodes[i];
        if (n->image >= p->image_count && n->image < PROFILE_IMAGE_PSEUDO)
            return false;
        if (i == 0) {
            if (n->parent != UINT32_MAX || n->image != PROFILE_IMAGE_PSEUDO ||
                n->offset != KEY_ROOT || n->guessed)
                return false;
            continue;
        }
        uint32_t at = i - 1;
        while (at != n->parent && at != UINT32_MAX)
            at = t->nodes[at].parent;
        if (at == UINT32_MAX)
            return false;
    }
    return true;
}

static bool check(const struct profile *p, struct err *e)
{
    for (uint32_t i = 0; i < p->thread_count; i++)
        if (!tree_good(p, &p->threads[i]))
            return err_set(e, ERR_INTERNAL,
                           "the profile cannot be written: the tree of thread %u is "
                           "not in preorder under a root",
                           i);
    return true;
}

struct tree_reader {
    struct cursor columns[COLUMNS];
    const struct decoder *d;
};

/* While a tree is read: what is open on the path to the current node. */
struct open_node {
    uint32_t children; /* still to come */
    uint32_t frame;    /* of the last child so far; 0 before the first */
};

/* Returns the node's frame, for its next sibling. */
static uint32_t get_node(struct tree_reader *r, struct profile_node *n, struct open_node *open,
                         uint32_t left, uint32_t base)
{
    struct cursor *frames = &r->columns[COLUMN_FRAMES];
    open->children = (uint32_t)cursor_uleb(&r->columns[COLUMN_CHILDREN], left,
                                           "a number of children that the tree has nodes for");
    open->frame = 0;
    int64_t delta = cursor_sleb(frames, "the step to a frame");
    if (delta < -(int64_t)base || delta >= (int64_t)r->d->frame_count - (int64_t)base) {
        cursor_fail(frames, "the step to one of the frames");
        return 0;
    }
    uint32_t frame = (uint32_t)((int64_t)base + delta);
    const struct frame *f = &r->d->frames[frame];
    n->image = f->image - FRAME_IMAGE_FIRST;
    n->offset = f->offset;
    n->guessed = f->guessed;
    n->self = cursor_uleb(&r->columns[COLUMN_SELF], UINT64_MAX, "the samples of a node");
    n->calls = cursor_uleb(&r->columns[COLUMN_CALLS], UINT64_MAX, "the calls of a node");
    n->subtree = 1;
    return frame;
}

static bool columns_ok(const struct tree_reader *r)
{
    for (unsigned i = 0; i < COLUMNS; i++)
        if (r->columns[i].failed)
            return false;
    return true;
}

/* nodes[0 .. count) in preorder, from the number of children of each. `promised` counts the nodes
 * that open nodes still wait for: it must be exactly what is left, or the tree has no such
 * shape. */
static bool get_tree(struct tree_reader *r, struct profile_node *nodes, struct open_node *open,
                     uint32_t count)
{
    struct cursor *shape = &r->columns[COLUMN_CHILDREN];
    uint32_t promised = 0, at = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t base = 0;
        if (i > 0) {
            if (!promised)
                return cursor_fail(shape, "a tree in which every node but the first has a parent");
            while (!open[at].children)
                at = nodes[at].parent;
            promised--;
            open[at].children--;
            base = open[at].frame;
        }
        nodes[i].parent = at;
        uint32_t frame = get_node(r, &nodes[i], &open[i], count - 1 - i - promised, base);
        if (!columns_ok(r))
            return false;
        if (i > 0)
            open[at].frame = frame;
        promised += open[i].children;
        at = i;
    }
    if (promised)
        return cursor_fail(shape, "a tree that has as many nodes as its nodes have children");
    if (nodes[0].image != PROFILE_IMAGE_PSEUDO || nodes[0].offset != KEY_ROOT || nodes[0].guessed)
        return cursor_fail(&r->columns[COLUMN_FRAMES], "a tree whose first node is the root");
    for (uint32_t i = count; i-- > 1;)
        nodes[nodes[i].parent].subtree += nodes[i].subtree;
    return true;
}

/* Every node takes a byte of every column, so a node count is checked before it is believed. */
static bool get_thread_tree(struct tree_reader *r, struct profile_thread *t)
{
    uint32_t count = t->node_count;
    t->node_count = 0;
    for (unsigned i = 0; i < COLUMNS; i++)
        if (count > r->columns[i].size - r->columns[i].at)
            return cursor_fail(&r->columns[i], "as many nodes as the thread's record says");
    if (!count)
        return true;
    struct open_node *open = read_array(&r->columns[0], count, sizeof *open);
    t->nodes = read_array(&r->columns[0], count, sizeof *t->nodes);
    bool ok = open && t->nodes && get_tree(r, t->nodes, open, count);
    if (ok)
        t->node_count = count;
    free(open);
    return ok;
}

/* Points a cursor at each column, whose fields are for a watcher; not the columns as a whole. */
static bool open_columns(struct cursor *c, struct tree_reader *r)
{
    const struct cursor_watch *watch = c->watch;
    uint64_t sizes[COLUMNS];
    for (unsigned i = 0; i < COLUMNS; i++)
        sizes[i] = cursor_uleb(c, c->size, "the size of a column, within the section");
    for (unsigned i = 0; i < COLUMNS; i++) {
        r->columns[i] = *c;
        c->watch = NULL;
        if (!cursor_bytes(c, (size_t)sizes[i], "a column of the size that was given for it"))
            return false;
        c->watch = watch;
        r->columns[i].size = c->at;
    }
    return true;
}

static bool has_private_code(const struct profile_thread *t)
{
    for (uint32_t i = 0; i < t->node_count; i++)
        if (profile_is_private(t->nodes[i].image, t->nodes[i].offset))
            return true;
    return false;
}

static const char *process_name(const struct profile *p, uint32_t thread)
{
    return p->processes[p->threads[thread].process].name;
}

/* The sum that the thread's nodes are added to, made where it is the first. Processes of one name
 * often follow one another. NULL: there is no memory, or there are too many. */
static struct read_tree *tree_for(struct decoder *d, uint32_t index, bool *many)
{
    struct read_sum *sum = d->sum;
    const char *name = process_name(d->p, index);
    for (uint32_t i = sum->tree_count; i-- > 0;)
        if (!strcmp(process_name(d->p, sum->trees[i].thread), name))
            return &sum->trees[i];
    *many = sum->tree_count == TREES_MOST;
    struct read_tree *grown =
        *many ? NULL : reallocarray(sum->trees, (size_t)sum->tree_count + 1, sizeof *grown);
    if (!grown)
        return NULL;
    sum->trees = grown;
    grown[sum->tree_count] = (struct read_tree){.thread = index};
    return &grown[sum->tree_count++];
}

/* The weights by the other metrics come with another section. */
static bool share_selves(struct profile_thread *t, const uint32_t *index_of)
{
    bool ok = (t->shares = profile_shares_new()) != NULL;
    for (uint32_t i = 0; ok && i < t->node_count; i++)
        if (t->nodes[i].self)
            ok = profile_share_add(&t->shares, &(struct profile_share){.node = index_of[i],
                                                                      .weight = t->nodes[i].self});
    return ok;
}

/* Its nodes become the sum's; addresses in no image mean something in its process only. */
static bool sum_thread(struct decoder *d, struct cursor *c, uint32_t index)
{
    struct profile_thread *t = &d->p->threads[index];
    struct read_summed *to = &d->sum->threads[index];
    bool many = false;
    if (!t->node_count || has_private_code(t))
        return true;
    struct read_tree *tree = tree_for(d, index, &many);
    if (many)
        return true;
    to->index_of = read_array(c, t->node_count, sizeof *to->index_of);
    if (!tree || !to->index_of) {
        read_no_memory(c);
        return false;
    }
    bool first = !tree->tree.count, ok = true;
    if (first)
        tree_sum_adopt(&tree->tree, t->nodes, t->node_count, to->index_of);
    else
        ok = tree_sum_add(&tree->tree, t->nodes, t->node_count, to->index_of);
    to->tree = (uint32_t)(tree - d->sum->trees);
    to->count = t->node_count;
    ok = ok && (!d->sum->shared || share_selves(t, to->index_of));
    if (!first)
        free(t->nodes);
    t->nodes = NULL;
    t->node_count = 0;
    if (!ok)
        read_no_memory(c);
    return ok;
}

/* index_of: where the thread's nodes are in the sum, whose nodes are at place[]. */
static void place_moments(struct profile_timeline *t, const uint32_t *index_of,
                          const uint32_t *place)
{
    for (uint32_t i = 0; t && i < t->count; i++)
        if (t->list[i].node != PROFILE_REST)
            t->list[i].node = place[index_of[t->list[i].node]];
    profile_timeline_settle(t);
}

/* place: where the nodes of sum `index` are. */
static void place_shares(struct decoder *d, uint32_t index, const uint32_t *place)
{
    for (uint32_t i = 0; i < d->p->thread_count; i++) {
        struct profile_shares *s = d->p->threads[i].shares;
        if (!s || d->sum->threads[i].tree != index)
            continue;
        profile_shares_place(s, place);
        s->tree = d->sum->trees[index].thread;
        place_moments(d->p->threads[i].timeline, d->sum->threads[i].index_of, place);
    }
}

static bool resolve(struct decoder *d)
{
    bool ok = true;
    for (uint32_t i = 0; ok && d->sum && i < d->sum->tree_count; i++) {
        struct read_tree *tree = &d->sum->trees[i];
        struct profile_thread *t = &d->p->threads[tree->thread];
        uint32_t *place = calloc(tree->tree.count, sizeof *place);
        t->nodes = place ? tree_sum_preorder(&tree->tree, place) : NULL;
        t->node_count = t->nodes ? tree->tree.count : 0;
        if (t->nodes && d->sum->shared)
            place_shares(d, i, place);
        free(place);
        ok = t->nodes || err_set(d->e, ERR_INTERNAL, "%s: out of memory", d->file.name);
    }
    return ok;
}

static void get(struct decoder *d, struct cursor *c)
{
    struct tree_reader r = {.d = d};
    bool ok = open_columns(c, &r);
    if (ok && d->sum)
        ok = (d->sum->threads = read_array(c, d->p->thread_count, sizeof *d->sum->threads)) != NULL;
    for (uint32_t i = 0; i < d->p->thread_count; i++) {
        if (ok)
            ok = get_thread_tree(&r, &d->p->threads[i]) && (!d->sum || sum_thread(d, c, i));
        else
            d->p->threads[i].node_count = 0;
    }
    for (unsigned i = 0; ok && i < COLUMNS; i++)
        ok = cursor_end(&r.columns[i]);
    c->failed |= !ok;
}

/* They came with their threads (threads.c). */
static bool merge(struct merger *m)
{
    for (uint32_t i = m->first_thread; i < m->into->thread_count; i++) {
        struct profile_thread *t = &m->into->threads[i];
        for (uint32_t k = 0; k < t->node_count; k++)
            if (t->nodes[k].image < PROFILE_IMAGE_PSEUDO)
                t->nodes[k].image = m->image_of[t->nodes[k].image];
    }
    return true;
}

const struct section_kind kind_trees = {
    .type = {7, "trees", SECTION_REQUIRED},
    .about = "calling context trees",
    .check = check,
    .put = put,
    .get = get,
    .resolve = resolve,
    .merge = merge,
};
