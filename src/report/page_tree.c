#include "report/page_tree.h"

#include <stdlib.h>

#include "base/saturate.h"
#include "profile/simulate.h"
#include "report/calls.h"

static void nodes_place(struct page_tree *t,
                        bool (*shown)(const struct view *v, uint32_t node, const void *arg),
                        const void *arg)
{
    const struct view_tree *tree = &t->view->tree;
    for (uint32_t node = 0; node != VIEW_NONE;) {
        const struct view_node *n = &tree->nodes[node];
        bool kept = !node || shown(t->view, node, arg);
        if (kept) {
            t->place[node] = t->count;
            t->written[t->count++] = node;
        } else {
            uint32_t above = t->place[n->parent];
            t->left_out[above] = add_saturated(t->left_out[above], n->total);
        }
        node = view_tree_next(tree, node, !kept);
    }
    for (uint32_t i = 1; i < tree->count; i++)
        if (t->place[i] == VIEW_NONE)
            t->place[i] = t->place[tree->nodes[i].parent];
}

static int compare_shares(const void *a, const void *b)
{
    const struct page_share *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* Sorts them; equal ones become one. */
static void shares_settle(struct page_tree *t)
{
    size_t kept = 0;
    if (t->share_count)
        qsort(t->shares, t->share_count, sizeof *t->shares, compare_shares);
    for (size_t i = 0; i < t->share_count; i++) {
        struct page_share *last = kept ? &t->shares[kept - 1] : NULL;
        if (!last || compare_shares(last, &t->shares[i]) != 0) {
            t->shares[kept++] = t->shares[i];
            continue;
        }
        last->self = add_saturated(last->self, t->shares[i].self);
        last->left_out = add_saturated(last->left_out, t->shares[i].left_out);
    }
    t->share_count = kept;
}

static void shares_make(struct page_tree *t)
{
    for (size_t i = 0; i < t->view->share_count; i++) {
        const struct view_share *share = &t->view->shares[i];
        uint32_t place = t->place[share->node];
        bool own = t->written[place] == share->node;
        t->shares[t->share_count++] = (struct page_share){.node = place,
                                                          .thread = share->thread,
                                                          .self = own ? share->self : 0,
                                                          .left_out = own ? 0 : share->self};
    }
    shares_settle(t);
}

bool page_tree_make(struct page_tree *t, const struct view *v,
                    bool (*shown)(const struct view *v, uint32_t node, const void *arg),
                    const void *arg)
{
    size_t count = (size_t)v->tree.count + 1;
    *t = (struct page_tree){.view = v,
                            .place = calloc(count, sizeof *t->place),
                            .written = calloc(count, sizeof *t->written),
                            .left_out = calloc(count, sizeof *t->left_out),
                            .shares = calloc(v->share_count + 1, sizeof *t->shares)};
    if (!t->place || !t->written || !t->left_out || !t->shares)
        return false;
    for (uint32_t i = 0; i < v->tree.count; i++)
        t->place[i] = VIEW_NONE;
    nodes_place(t, shown, arg);
    shares_make(t);
    return true;
}

void page_tree_free(struct page_tree *t)
{
    free(t->place);
    free(t->written);
    free(t->left_out);
    free(t->shares);
    *t = (struct page_tree){0};
}

static const struct view_node *node_at(const struct page_tree *t, uint32_t i)
{
    return &t->view->tree.nodes[t->written[i]];
}

/* Returns by function of the view: 1 + its frame. NULL without memory. */
static uint32_t *write_frames(struct json *j, const struct page_tree *t)
{
    const struct view *v = t->view;
    uint32_t *frame = calloc((size_t)v->function_count + 1, sizeof *frame), count = 0;
    j->out->failed |= !frame;
    json_key(j, "frames");
    json_open(j, '[');
    for (uint32_t i = 0; frame && i < t->count; i++) {
        uint32_t function = node_at(t, i)->function;
        if (frame[function])
            continue;
        frame[function] = ++count;
        json_open(j, '[');
        json_string(j, v->functions[function].name);
        json_string(j, v->functions[function].image_name);
        json_close(j, ']');
    }
    json_close(j, ']');
    return frame;
}

/* The next value: those that are not 0, each behind its distance from the one before. */
static void write_sparse(struct json *j, const uint64_t *values, uint32_t count)
{
    json_open(j, '[');
    for (uint32_t i = 0, last = 0; i < count; i++)
        if (values[i]) {
            json_u64(j, i - last);
            json_u64(j, values[i]);
            last = i;
        }
    json_close(j, ']');
}

static void write_left_out(struct json *j, const struct page_tree *t)
{
    json_key(j, "left_out");
    write_sparse(j, t->left_out, t->count);
}

/* Those of a single thread are what the nodes have. */
static bool are_of_several(const struct page_tree *t)
{
    for (size_t i = 1; i < t->share_count; i++)
        if (t->shares[i].thread != t->shares[0].thread)
            return true;
    return false;
}

static void write_threads(struct json *j, const struct page_tree *t)
{
    if (!are_of_several(t))
        return;
    json_key(j, "threads");
    json_open(j, '[');
    uint32_t last = 0;
    for (size_t i = 0; i < t->share_count; i++) {
        json_u64(j, t->shares[i].node - last);
        json_u64(j, t->shares[i].thread);
        json_u64(j, t->shares[i].self);
        json_u64(j, t->shares[i].left_out);
        last = t->shares[i].node;
    }
    json_close(j, ']');
}

static void write_calls_of(struct json *j, const struct page_tree *t, uint32_t i)
{
    const struct view_node *n = node_at(t, i);
    struct calls_cost cost = calls_cost(t->view, n->total, n->calls);
    json_open(j, '[');
    json_u64(j, i);
    json_u64(j, n->calls);
    if (cost.known) {
        json_double(j, cost.samples);
        json_double(j, cost.low);
        json_double(j, cost.high);
    }
    if (cost.known && cost.all_high > 0 && !view_is_of_calls(t->view)) {
        json_double(j, cost.all_low);
        json_double(j, cost.all_high);
    }
    json_close(j, ']');
}

static void write_calls(struct json *j, const struct page_tree *t)
{
    json_key(j, "calls");
    json_open(j, '[');
    for (uint32_t i = 0; i < t->count; i++)
        if (node_at(t, i)->calls)
            write_calls_of(j, t, i);
    json_close(j, ']');
}

/* Of a simulation: what each node has with all below it, by cause, in the order of causes. */
static void write_stacks(struct json *j, const struct page_tree *t)
{
    if (!profile_is_simulated(t->view->profile))
        return;
    json_key(j, "simulated");
    json_open(j, '[');
    for (unsigned m = SIMULATED_INSTRUCTIONS; m < SIMULATED_METRICS; m++) {
        json_open(j, '[');
        for (uint32_t i = 0; i < t->count; i++)
            json_u64(j, view_tree_weights(&t->view->tree, t->written[i])[m]);
        json_close(j, ']');
    }
    json_close(j, ']');
}

static bool is_written(const struct page_tree *t, uint32_t node)
{
    return t->written[t->place[node]] == node;
}

/* What nodes have of a metric that are not written, and the node above is. */
static void left_out_of(const struct page_tree *t, unsigned metric, uint64_t *sums)
{
    const struct view_tree *tree = &t->view->tree;
    for (uint32_t i = 0; i < t->count; i++)
        sums[i] = 0;
    for (uint32_t i = 1; i < tree->count; i++) {
        uint32_t above = tree->nodes[i].parent;
        uint64_t *sum = &sums[t->place[above]];
        if (!is_written(t, i) && is_written(t, above))
            *sum = add_saturated(*sum, view_tree_weights(tree, i)[metric]);
    }
}

/* As "left_out" is of cycles; in the order of "simulated". */
static void write_stacks_left_out(struct json *j, const struct page_tree *t)
{
    if (!profile_is_simulated(t->view->profile))
        return;
    uint64_t *sums = calloc((size_t)t->count + 1, sizeof *sums);
    j->out->failed |= !sums;
    json_key(j, "simulated_left_out");
    json_open(j, '[');
    for (unsigned m = SIMULATED_INSTRUCTIONS; sums && m < SIMULATED_METRICS; m++) {
        left_out_of(t, m, sums);
        write_sparse(j, sums, t->count);
    }
    json_close(j, ']');
    free(sums);
}

void page_tree_write(struct json *j, const struct page_tree *t)
{
    uint32_t *frame = write_frames(j, t);
    json_key(j, "nodes");
    json_open(j, '{');
    json_key(j, "frame");
    json_open(j, '[');
    for (uint32_t i = 0; frame && i < t->count; i++)
        json_u64(j, frame[node_at(t, i)->function] - 1);
    json_close(j, ']');
    json_key(j, "depth");
    json_open(j, '[');
    for (uint32_t i = 0; i < t->count; i++)
        json_u64(j, node_at(t, i)->depth);
    json_close(j, ']');
    json_key(j, "self");
    json_open(j, '[');
    for (uint32_t i = 0; i < t->count; i++)
        json_u64(j, node_at(t, i)->self);
    json_close(j, ']');
    write_left_out(j, t);
    write_threads(j, t);
    write_calls(j, t);
    write_stacks(j, t);
    write_stacks_left_out(j, t);
    json_close(j, '}');
    free(frame);
}
