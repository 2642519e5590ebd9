#include "profile/decode.h"

#include <stdlib.h>
#include <string.h>

#include "profile/frames.h"

enum { COLUMN_CHILDREN, COLUMN_FRAMES, COLUMN_SELF, COLUMN_CALLS, COLUMNS };

struct frame_list {
    struct frame *frames;
    uint32_t count;
};

static bool get_frames(struct decoder *d, struct frame_list *list)
{
    struct cursor c;
    if (!decode_open(d, SECTION_FRAMES, &c))
        return false;
    uint32_t count = cursor_count(&c, 3, "a number of frames that fits the section");
    uint64_t image_max = (uint64_t)d->p->image_count + FRAME_IMAGE_FIRST - 1;
    struct frame *f = decode_array(&c, count, sizeof *f);
    uint64_t image = 0, offset = 0;
    for (uint32_t i = 0; i < count && !c.failed; i++) {
        image += cursor_uleb(&c, image_max - image, "the step to the image of a frame");
        f[i].image = (uint32_t)image;
    }
    for (uint32_t i = 0; i < count && !c.failed; i++) {
        if (i && f[i].image != f[i - 1].image)
            offset = 0;
        offset += cursor_uleb(&c, UINT64_MAX - offset, "the step to the offset of a frame");
        f[i].offset = offset;
    }
    for (uint32_t i = 0; i < count && !c.failed; i++)
        f[i].guessed = (uint32_t)cursor_uleb(&c, 1, "0 or 1: whether a frame was guessed");
    bool ok = cursor_end(&c);
    free((void *)(uintptr_t)c.data);
    list->frames = f;
    list->count = count;
    return ok;
}

struct tree_reader {
    struct cursor columns[COLUMNS];
    const struct frame_list *frames;
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
    if (delta < -(int64_t)base || delta >= (int64_t)r->frames->count - (int64_t)base) {
        cursor_fail(frames, "the step to one of the frames");
        return 0;
    }
    uint32_t frame = (uint32_t)((int64_t)base + delta);
    const struct frame *f = &r->frames->frames[frame];
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
 * that open nodes still wait for: it must be exactly what is left, or the tree has no such shape. */
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
    if (nodes[0].image != PROFILE_IMAGE_PSEUDO || nodes[0].offset != KEY_ROOT ||
        nodes[0].guessed)
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
    struct open_node *open = decode_array(&r->columns[0], count, sizeof *open);
    t->nodes = decode_array(&r->columns[0], count, sizeof *t->nodes);
    bool ok = open && t->nodes && get_tree(r, t->nodes, open, count);
    if (ok)
        t->node_count = count;
    free(open);
    return ok;
}

/* Points a cursor at each column. */
static bool open_columns(struct cursor *c, struct tree_reader *r)
{
    uint64_t sizes[COLUMNS];
    for (unsigned i = 0; i < COLUMNS; i++)
        sizes[i] = cursor_uleb(c, c->size, "the size of a column, within the section");
    for (unsigned i = 0; i < COLUMNS; i++) {
        r->columns[i] = *c;
        if (!cursor_bytes(c, (size_t)sizes[i], "a column of the size that was given for it"))
            return false;
        r->columns[i].size = c->at;
    }
    return cursor_end(c);
}

bool decode_trees(struct decoder *d)
{
    struct frame_list list = {0};
    struct tree_reader r = {.frames = &list};
    struct cursor c = {0};
    bool ok = get_frames(d, &list) && decode_open(d, SECTION_TREES, &c) && open_columns(&c, &r);
    for (uint32_t i = 0; i < d->p->thread_count; i++) {
        if (ok)
            ok = get_thread_tree(&r, &d->p->threads[i]);
        else
            d->p->threads[i].node_count = 0;
    }
    for (unsigned i = 0; ok && i < COLUMNS; i++)
        ok = cursor_end(&r.columns[i]);
    free((void *)(uintptr_t)c.data);
    free(list.frames);
    return ok;
}
