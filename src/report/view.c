#include "report/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/refine.h"
#include "base/buf.h"
#include "base/saturate.h"
#include "profile/block_tree.h"
#include "profile/shares.h"
#include "report/totals.h"
#include "sigsafe/hash.h"
#include "sigsafe/tools.h"

/* Open addressing from a key to an index + 1; the keys themselves are where the indexes point. */
struct table {
    uint32_t *slots;
    size_t size, used; /* size: a power of two */
};

struct builder {
    struct view *view;
    const struct view_options *options;
    struct table functions, nodes;
};

static uint64_t mix(uint64_t h, uint64_t value)
{
    h = hash_word(h ^ value);
    return h ^ h >> 32;
}

static uint64_t function_hash(const struct view_function *f)
{
    uint64_t h = mix(0, (uintptr_t)f->name);
    h = mix(h, f->image);
    h = mix(h, (uintptr_t)f->file);
    return mix(h, f->line);
}

/* Names are interned by symbols, so pointers identify them. */
static bool function_equal(const struct view_function *a, const struct view_function *b)
{
    return a->name == b->name && a->image == b->image && a->file == b->file && a->line == b->line;
}

static uint64_t node_hash(const struct view_node *n)
{
    return mix(mix(0, n->parent), (uint64_t)n->function << 1 | n->inlined);
}

static uint64_t entry_hash(const struct builder *b, const struct table *t, uint32_t index)
{
    return t == &b->nodes ? node_hash(&b->view->tree.nodes[index])
                          : function_hash(&b->view->functions[index]);
}

/* Keeps the table at most half full; false without memory. */
static bool table_grow(struct builder *b, struct table *t)
{
    if (t->used * 2 < t->size)
        return true;
    size_t size = t->size ? t->size * 2 : 256;
    uint32_t *slots = calloc(size, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < t->size; i++) {
        if (!t->slots[i])
            continue;
        size_t at = entry_hash(b, t, t->slots[i] - 1) & (size - 1);
        while (slots[at])
            at = (at + 1) & (size - 1);
        slots[at] = t->slots[i];
    }
    free(t->slots);
    t->slots = slots;
    t->size = size;
    return true;
}

static uint32_t function_intern(struct builder *b, const struct view_function *key)
{
    struct view *v = b->view;
    if (!table_grow(b, &b->functions))
        return VIEW_NONE;
    size_t at = function_hash(key) & (b->functions.size - 1);
    for (; b->functions.slots[at]; at = (at + 1) & (b->functions.size - 1))
        if (function_equal(&v->functions[b->functions.slots[at] - 1], key)) {
            struct view_function *found = &v->functions[b->functions.slots[at] - 1];
            if (key->start_self > found->start_self) {
                found->start = key->start;
                found->start_self = key->start_self;
            }
            return b->functions.slots[at] - 1;
        }
    if (!ARRAY_ROOM(v->functions, v->function_count, v->function_capacity))
        return VIEW_NONE;
    v->functions[v->function_count] = *key;
    b->functions.slots[at] = ++v->function_count;
    b->functions.used++;
    return v->function_count - 1;
}

void view_tree_fini(struct view_tree *t)
{
    free(t->nodes);
    free(t->weights);
    *t = (struct view_tree){ 0 };
}

uint32_t view_tree_add(struct view_tree *t, uint32_t parent, uint32_t function, bool inlined)
{
    if (t->count == t->capacity) {
        uint32_t capacity = t->capacity ? t->capacity * 2 : 256;
        struct view_node *grown =
            capacity > t->capacity ? reallocarray(t->nodes, capacity, sizeof *grown) : NULL;
        if (!grown)
            return VIEW_NONE;
        t->nodes = grown;
        uint64_t *weights = t->metrics ? reallocarray(t->weights, capacity,
                                                      t->metrics * sizeof *weights)
                                       : NULL;
        if (t->metrics && !weights)
            return VIEW_NONE;
        t->weights = weights;
        t->capacity = capacity;
    }
    for (uint32_t m = 0; m < t->metrics; m++)
        view_tree_weights(t, t->count)[m] = 0;
    t->nodes[t->count] = (struct view_node){
        .function = function,
        .parent = parent,
        .first_child = VIEW_NONE,
        .next_sibling = VIEW_NONE,
        .depth = parent == VIEW_NONE ? 0 : t->nodes[parent].depth + 1,
        .inlined = inlined,
    };
    return t->count++;
}

static uint32_t node_child(struct builder *b, uint32_t parent, uint32_t function, bool inlined)
{
    struct view_tree *t = &b->view->tree;
    struct view_node key = { .parent = parent, .function = function, .inlined = inlined };
    if (function == VIEW_NONE || !table_grow(b, &b->nodes))
        return VIEW_NONE;
    size_t at = node_hash(&key) & (b->nodes.size - 1);
    for (; b->nodes.slots[at]; at = (at + 1) & (b->nodes.size - 1)) {
        const struct view_node *n = &t->nodes[b->nodes.slots[at] - 1];
        if (n->parent == parent && n->function == function && n->inlined == inlined)
            return b->nodes.slots[at] - 1;
    }
    uint32_t node = view_tree_add(t, parent, function, inlined);
    if (node == VIEW_NONE)
        return VIEW_NONE;
    b->nodes.slots[at] = node + 1;
    b->nodes.used++;
    return node;
}

static uint32_t frame_function(struct builder *b, const struct profile_node *n,
                               const struct symbol_frame *frame)
{
    bool lines = b->options->lines && frame->file[0];
    struct view_function key = {
        .name = frame->function,
        .image = n->image,
        .image_name = symbols_place_name(b->view->symbols, n->image, n->offset),
        .file = lines ? frame->file : "",
        .line = lines ? frame->line : 0,
        .start = frame->start ? frame->start : n->offset,
        .start_self = n->self,
    };
    if (!lines)
        key.file = "";
    return function_intern(b, &key);
}

static void calls_add(struct view *v, uint32_t node, uint64_t calls)
{
    uint64_t *of_node = &v->tree.nodes[node].calls;
    uint64_t *of_function = &v->functions[v->tree.nodes[node].function].calls;
    *of_node = add_saturated(*of_node, calls);
    *of_function = add_saturated(*of_function, calls);
}

/* Adds the frames of one profile node below `at`; returns the innermost one's node. What was called
 * is the outermost. */
static uint32_t frames_add(struct builder *b, uint32_t at, const struct profile_process *process,
                           const struct profile_node *n)
{
    struct symbol_location where = symbols_find(b->view->symbols, process, n->image, n->offset);
    for (uint32_t i = where.count; i-- > 0 && at != VIEW_NONE;) {
        const struct symbol_frame *frame = &where.frames[i];
        if (b->options->no_inline && frame->inlined)
            break;
        at = node_child(b, at, frame_function(b, n, frame), frame->inlined);
        if (at != VIEW_NONE && i + 1 == where.count)
            calls_add(b->view, at, n->calls);
    }
    return at;
}

static void node_add(struct view *v, uint32_t at, const struct profile_node *n)
{
    struct view_node *to = &v->tree.nodes[at];
    uint64_t *weights = view_tree_weights(&v->tree, at);
    to->self = add_saturated(to->self, v->metric ? n->more[v->metric - 1] : n->self);
    for (uint32_t m = 0; m < v->tree.metrics; m++)
        weights[m] = add_saturated(weights[m], m ? n->more[m - 1] : n->self);
}

static bool share_add(struct builder *b, uint32_t node, uint32_t thread, uint64_t self)
{
    struct view *v = b->view;
    if (!self)
        return true;
    if (!ARRAY_ROOM(v->shares, v->share_count, v->share_capacity))
        return false;
    v->shares[v->share_count++] = (struct view_share){ node, thread, self };
    return true;
}

static int share_compare(const void *a, const void *b)
{
    const struct view_share *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* Sorts them, and makes one of equal ones. */
static void shares_settle(struct view *v)
{
    size_t kept = 0;
    if (v->share_count)
        qsort(v->shares, v->share_count, sizeof *v->shares, share_compare);
    for (size_t i = 0; i < v->share_count; i++)
        if (kept && share_compare(&v->shares[kept - 1], &v->shares[i]) == 0)
            v->shares[kept - 1].self = add_saturated(v->shares[kept - 1].self, v->shares[i].self);
        else
            v->shares[kept++] = v->shares[i];
    v->share_count = kept;
}

/* Of the nodes of thread `tree`, what each thread has: map[i] is node i in the view. */
static bool shares_add(struct builder *b, uint32_t tree, const uint32_t *map)
{
    const struct profile *p = b->view->profile;
    const struct profile_thread *owner = &p->threads[tree];
    uint32_t metric = b->view->metric;
    bool ok = true;
    if (!b->options->by_thread)
        return true;
    for (uint32_t i = 0; !owner->shares && ok && i < owner->node_count; i++) {
        const struct profile_node *n = &owner->nodes[i];
        ok = share_add(b, map[i], tree, metric ? n->more[metric - 1] : n->self);
    }
    for (uint32_t t = 0; owner->shares && t < p->thread_count; t++) {
        const struct profile_shares *s = p->threads[t].shares;
        for (uint32_t i = 0; ok && s && s->tree == tree && i < s->count; i++)
            if (s->list[i].metric == metric)
                ok = share_add(b, map[s->list[i].node], t, s->list[i].weight);
    }
    return ok;
}

static bool thread_add(struct builder *b, const struct profile_thread *thread)
{
    const struct profile *p = b->view->profile;
    const struct profile_process *process =
        thread->process < p->process_count ? &p->processes[thread->process] : NULL;
    if (!thread->node_count)
        return true;
    uint32_t *map = calloc(thread->node_count, sizeof *map);
    if (!map)
        return false;
    /* map[0] = 0: the root of every thread is the root of the view. */
    for (uint32_t i = 0; i < thread->node_count; i++) {
        const struct profile_node *n = &thread->nodes[i];
        if (i > 0)
            map[i] = frames_add(b, n->parent < i ? map[n->parent] : 0, process, n);
        if (map[i] == VIEW_NONE) {
            free(map);
            return false;
        }
        node_add(b->view, map[i], n);
    }
    uint32_t index = (uint32_t)(thread - p->threads);
    bool ok = shares_add(b, index, map);
    if (b->view->places)
        b->view->places[index] = map;
    else
        free(map);
    return ok;
}

static bool root_add(struct builder *b)
{
    struct profile_node root = { .image = PROFILE_IMAGE_PSEUDO, .offset = KEY_ROOT };
    struct symbol_location where =
        symbols_find(b->view->symbols, NULL, PROFILE_IMAGE_PSEUDO, KEY_ROOT);
    uint32_t function = frame_function(b, &root, &where.frames[0]);
    return function != VIEW_NONE
        && view_tree_add(&b->view->tree, VIEW_NONE, function, false) != VIEW_NONE;
}

static bool threads_add(struct builder *b)
{
    const struct profile *p = b->view->profile;
    for (uint32_t t = 0; t < p->thread_count; t++)
        if (b->view->threads_chosen[t] && !thread_add(b, &p->threads[t]))
            return false;
    shares_settle(b->view);
    return true;
}

/* Blocks belong to no calling context: each counts, with all its instructions, for the function
 * that its first instruction is in, right below the root. */
static bool blocks_add(struct builder *b)
{
    const struct profile *p = b->view->profile;
    for (uint32_t i = 0; i < observed_code(p)->block_count; i++) {
        const struct profile_block *block = &observed_code(p)->blocks[i];
        struct profile_node n = { .image = block->image, .offset = block->offset,
                                  .self = multiply_saturated(block->count, block->instructions) };
        uint32_t node = frames_add(b, 0, &p->processes[block->process], &n);
        if (node == VIEW_NONE)
            return false;
        uint64_t *self = &b->view->tree.nodes[node].self;
        *self = add_saturated(*self, n.self);
    }
    return true;
}

/* Where all blocks were counted, each execution of one is a sample, which weighs its instructions:
 * they are executed together. */
static double effective_of_blocks(const struct profile_counts *code)
{
    double weight = 0, squares = 0;
    for (uint32_t i = 0; i < code->block_count; i++) {
        double each = code->blocks[i].instructions, count = (double)code->blocks[i].count;
        weight += count * each;
        squares += count * each * each;
    }
    return squares > 0 ? weight * weight / squares : 0;
}

/* Of what a trigger took, its first metric has all. Of another one, such as what is live of the
 * bytes allocated, it is the part that has a weight by it. */
static void effective_find(struct view *v)
{
    const struct profile *p = v->profile;
    uint64_t weight = 0, squares = 0, taken = 0;
    for (uint32_t t = 0; t < p->thread_count; t++) {
        const struct profile_thread *thread = &p->threads[t];
        if (!v->threads_chosen[t])
            continue;
        weight = add_saturated(weight, thread->weight);
        squares = add_saturated(squares, thread->weight_squares);
        taken = add_saturated(taken, thread->taken);
    }
    double w = (double)weight;
    v->effective = v->of_blocks && profile_is_exact(p) ? effective_of_blocks(observed_code(p))
                   : squares                           ? w * w / (double)squares
                                                       : (double)taken;
    bool derived = v->metric && profile_trigger_of(p, v->metric) ==
                                    profile_trigger_of(p, v->metric - 1);
    if (derived && weight)
        v->effective *= fmin(1, (double)v->samples_all / w);
}

static void by_thread_free(struct view *v)
{
    for (uint32_t i = 0; v->places && i < v->profile->thread_count; i++)
        free(v->places[i]);
    free(v->places);
    free(v->shares);
    v->places = NULL;
    v->shares = NULL;
    v->share_count = v->share_capacity = 0;
}

struct view *view_build(const struct profile *p, const struct symbols *s,
                        const struct view_options *options, struct err *e)
{
    struct view *v = calloc(1, sizeof *v);
    if (!v) {
        err_set(e, ERR_INTERNAL, "cannot build the report: out of memory");
        return NULL;
    }
    v->profile = p;
    v->symbols = s;
    uint32_t metric = options->metric ? profile_metric_find(p, options->metric) : 0;
    if (metric == UINT32_MAX) {
        view_free(v);
        profile_metric_missing(p, options->metric, e);
        return NULL;
    }
    v->metric = metric;
    v->tree.metrics = p->metric_count > 1 ? p->metric_count : 0;
    struct builder b = { .view = v, .options = options };
    bool ok = refine_threads(v, options, e);
    if (options->by_thread)
        v->places = calloc((size_t)p->thread_count + 1, sizeof *v->places);
    v->of_blocks = profile_is_of_blocks(p);
    if (ok && v->of_blocks && (options->thread || options->process))
        ok = err_set(e, ERR_USAGE, "blocks are counted for all threads and processes together, so "
                     "there is no view of some of them");
    bool mapped = v->places || !options->by_thread;
    if (ok && (!mapped || !root_add(&b) || !(v->of_blocks ? blocks_add(&b) : threads_add(&b))))
        ok = err_set(e, ERR_INTERNAL, "cannot build the report: out of memory");
    free(b.functions.slots);
    free(b.nodes.slots);
    ok = ok && refine_paths(v, options, e) && totals_compute(v, e);
    if (ok)
        effective_find(v);
    if (options->image || options->through_count)
        by_thread_free(v);
    if (ok)
        return v;
    view_free(v);
    return NULL;
}

bool view_has_heap(const struct view *v)
{
    const struct profile *p = v->profile;
    return p->metric_count >= HEAP_METRICS && !strcmp(p->metrics[0].trigger, "malloc") &&
           !strcmp(p->metrics[HEAP_METRICS - 1].trigger, "malloc");
}

bool view_is_of_calls(const struct view *v)
{
    return observed_code(v->profile) && tools_about(observed_code(v->profile)->tools).contexts;
}

bool view_is_attributed(const struct view *v)
{
    for (uint32_t i = 0; i < v->function_count; i++)
        if (v->functions[i].self && (v->functions[i].image != PROFILE_IMAGE_PSEUDO ||
                                     v->functions[i].start != KEY_UNATTRIBUTED))
            return true;
    return false;
}

void view_free(struct view *v)
{
    if (!v)
        return;
    free(v->functions);
    free(v->function_weights);
    view_tree_fini(&v->tree);
    free(v->threads_chosen);
    by_thread_free(v);
    free(v);
}
