#include "profile/merge.h"

#include <stdlib.h>
#include <string.h>

#include "profile/frames.h"
#include "profile/timeline.h"

/* The sum while it grows: a node is found by its parent and its frame. Nodes are in order of
 * arrival, so a parent is before its children, but a subtree is not contiguous yet. */
struct sum {
    struct profile_node *nodes;
    uint32_t count, capacity;
    uint32_t *slots; /* index + 1, or 0; capacity * 2 of them, a power of two */
};

static uint32_t *find(const struct sum *s, uint32_t parent, const struct profile_node *n)
{
    struct frame frame = frame_of(n);
    uint32_t mask = s->capacity * 2 - 1;
    uint64_t h = (frame.offset ^ (uint64_t)frame.image << 40) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ h >> 32 ^ parent ^ (uint64_t)frame.guessed << 32) * UINT64_C(0xff51afd7ed558ccd);
    uint32_t at = (uint32_t)(h >> 32) & mask;
    for (; s->slots[at]; at = (at + 1) & mask) {
        const struct profile_node *other = &s->nodes[s->slots[at] - 1];
        struct frame other_frame = frame_of(other);
        if (other->parent == parent && frame_compare(&other_frame, &frame) == 0)
            break;
    }
    return &s->slots[at];
}

static bool grow(struct sum *s)
{
    uint32_t capacity = s->capacity ? s->capacity * 2 : 256;
    if (s->capacity > UINT32_MAX / 8)
        return false;
    struct profile_node *nodes = realloc(s->nodes, capacity * sizeof *nodes);
    if (!nodes)
        return false;
    s->nodes = nodes;
    uint32_t *slots = calloc((size_t)capacity * 2, sizeof *slots);
    if (!slots)
        return false;
    free(s->slots);
    s->slots = slots;
    s->capacity = capacity;
    for (uint32_t i = 0; i < s->count; i++)
        *find(s, s->nodes[i].parent, &s->nodes[i]) = i + 1;
    return true;
}

/* line: what the thread's moments are added to. */
static bool add_tree(struct sum *s, const struct profile_thread *t, struct profile_timeline **line)
{
    /* All roots are one, so that the sum has one. */
    struct profile_node root = {.image = PROFILE_IMAGE_PSEUDO, .offset = KEY_ROOT};
    if (t->node_count) {
        root.self = t->nodes[0].self;
        root.calls = t->nodes[0].calls;
        memcpy(root.more, t->nodes[0].more, sizeof root.more);
    }
    uint32_t *index_of = calloc(t->node_count ? t->node_count : 1, sizeof *index_of);
    bool ok = index_of != NULL;
    for (uint32_t i = 0; ok && i < t->node_count; i++) {
        const struct profile_node *n = i ? &t->nodes[i] : &root;
        uint32_t parent = i ? index_of[n->parent] : UINT32_MAX;
        if (s->count == s->capacity && !grow(s)) {
            ok = false;
            break;
        }
        uint32_t *slot = find(s, parent, n);
        if (!*slot) {
            struct profile_node *made = &s->nodes[s->count++];
            *made = *n;
            made->parent = parent;
            made->self = made->calls = 0;
            memset(made->more, 0, sizeof made->more);
            made->subtree = 1;
            *slot = s->count;
        }
        index_of[i] = *slot - 1;
        s->nodes[*slot - 1].self += n->self;
        s->nodes[*slot - 1].calls += n->calls;
        for (unsigned m = 0; m < METRICS_MAX - 1; m++)
            s->nodes[*slot - 1].more[m] += n->more[m];
    }
    ok = ok && (!t->timeline || profile_timeline_join(line, t->timeline, index_of));
    free(index_of);
    return ok;
}

struct sibling {
    struct frame frame;
    uint32_t parent, index;
};

static int compare_siblings(const void *a, const void *b)
{
    const struct sibling *x = a, *y = b;
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    return frame_compare(&x->frame, &y->frame);
}

/* Gives every node its place in preorder. Siblings come sorted, those of an earlier parent first,
 * and a parent arrived before its children, so its own place is known: it hands its children their
 * places in turn, each a subtree after the one before. */
static void place_nodes(const struct sum *s, const struct sibling *siblings, uint32_t *place,
                        uint32_t *next)
{
    place[0] = 0;
    next[0] = 1;
    for (uint32_t i = 0; i + 1 < s->count; i++) {
        uint32_t node = siblings[i].index, parent = siblings[i].parent;
        place[node] = next[parent];
        next[parent] += s->nodes[node].subtree;
        next[node] = place[node] + 1;
    }
}

/* And the moments name the nodes by their places. */
static struct profile_node *in_preorder(const struct sum *s, struct profile_timeline *line)
{
    uint32_t n = s->count;
    struct profile_node *out = calloc(n, sizeof *out);
    struct sibling *siblings = calloc(n, sizeof *siblings);
    uint32_t *place = calloc(n, sizeof *place);
    uint32_t *next = calloc(n, sizeof *next);
    bool ok = out && siblings && place && next;
    if (ok) {
        for (uint32_t i = n; i-- > 1;)
            s->nodes[s->nodes[i].parent].subtree += s->nodes[i].subtree;
        for (uint32_t i = 1; i < n; i++)
            siblings[i - 1] = (struct sibling){frame_of(&s->nodes[i]), s->nodes[i].parent, i};
        qsort(siblings, n - 1, sizeof *siblings, compare_siblings);
        place_nodes(s, siblings, place, next);
        for (uint32_t i = 0; i < n; i++) {
            out[place[i]] = s->nodes[i];
            if (i)
                out[place[i]].parent = place[s->nodes[i].parent];
        }
        for (uint32_t i = 0; line && i < line->count; i++)
            if (line->list[i].node != PROFILE_REST)
                line->list[i].node = place[line->list[i].node];
        profile_timeline_settle(line);
    }
    free(siblings);
    free(place);
    free(next);
    if (!ok)
        free(out);
    return ok ? out : NULL;
}

static void add_sampled(struct profile_sampled *to, const struct profile_sampled *s)
{
    to->taken += s->taken;
    to->weight += s->weight;
    to->weight_squares += s->weight_squares;
    to->guessed += s->guessed;
    for (unsigned i = 0; i < TRUNC_COUNT; i++)
        to->truncated[i] += s->truncated[i];
    for (unsigned i = 0; i < DROP_COUNT; i++)
        to->drops[i] += s->drops[i];
}

/* others: how many triggers there are after the first. */
static void add_counters(struct profile_thread *to, const struct profile_thread *t, uint32_t others)
{
    to->cpu_ns += t->cpu_ns;
    to->taken += t->taken;
    to->weight += t->weight;
    to->weight_squares += t->weight_squares;
    to->guessed += t->guessed;
    to->cost_ns += t->cost_ns;
    to->deliveries += t->deliveries;
    to->delivered_ns += t->delivered_ns;
    to->switches += t->switches;
    to->switched_ns += t->switched_ns;
    for (unsigned i = 0; i < TRUNC_COUNT; i++)
        to->truncated[i] += t->truncated[i];
    for (unsigned i = 0; i < DROP_COUNT; i++)
        to->drops[i] += t->drops[i];
    if (t->start_ns < to->start_ns)
        to->start_ns = t->start_ns;
    if (t->end_ns > to->end_ns)
        to->end_ns = t->end_ns;
    for (uint32_t k = 0; to->others && t->others && k < others; k++)
        add_sampled(&to->others[k], &t->others[k]);
}

static bool no_memory(struct err *e)
{
    return err_set(e, ERR_INTERNAL, "out of memory while the threads' trees were summed");
}

/* An empty one that the moments of all these threads fit in: NULL, and *ok, if they have none. */
static struct profile_timeline *timeline_for(struct profile_thread *const *threads, uint32_t count, bool *ok)
{
    uint64_t start = UINT64_MAX, end = 0;
    uint32_t shift = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct profile_timeline *t = threads[i]->timeline;
        if (!t || !t->count)
            continue;
        uint64_t last = profile_moment_stretch(t, &t->list[t->count - 1]).to_ns;
        start = t->start_ns < start ? t->start_ns : start;
        end = last > end ? last : end;
        shift = t->shift > shift ? t->shift : shift;
    }
    if (start == UINT64_MAX)
        return NULL;
    while ((end - start) >> shift > UINT32_MAX)
        shift++;
    struct profile_timeline *line = calloc(1, sizeof *line);
    *ok &= line != NULL;
    if (line) {
        line->start_ns = start;
        line->shift = shift;
    }
    return line;
}

/* Into the first of `count` threads; the others are emptied. The name is to be on the heap, and is the sum's then. */
static bool sum_into_first(const struct profile *p, struct profile_thread *const *threads, uint32_t count, char *name)
{
    struct sum s = {0};
    struct profile_thread all = {.start_ns = UINT64_MAX, .name = name};
    uint32_t others = profile_triggers(p) - 1;
    all.others = others ? profile_sampled_new(p) : NULL;
    bool ok = name && (all.others || !others);
    all.timeline = timeline_for(threads, count, &ok);
    for (uint32_t i = 0; ok && i < count; i++) {
        add_counters(&all, threads[i], others);
        ok = add_tree(&s, threads[i], &all.timeline);
    }
    if (ok && s.count) {
        all.nodes = in_preorder(&s, all.timeline);
        all.node_count = s.count;
        ok = all.nodes != NULL;
    }
    free(s.nodes);
    free(s.slots);
    if (!ok) {
        free(name);
        free(all.timeline);
        free(all.others);
        return false;
    }
    all.process = threads[0]->process;
    all.phase = threads[0]->phase;
    all.tid = threads[0]->tid;
    for (uint32_t i = 0; i < count; i++) {
        profile_thread_fini(threads[i]);
        *threads[i] = (struct profile_thread){0};
    }
    *threads[0] = all;
    return true;
}

bool profile_sum_threads(struct profile *p, struct err *e)
{
    if (p->thread_count < 2)
        return true;
    struct profile_thread **threads = calloc(p->thread_count, sizeof(struct profile_thread *));
    for (uint32_t i = 0; threads && i < p->thread_count; i++)
        threads[i] = &p->threads[i];
    bool ok = threads && sum_into_first(p, threads, p->thread_count, strdup("all threads"));
    free(threads);
    if (!ok)
        return no_memory(e);
    p->threads[0].phase = 0;
    p->threads[0].tid = 0;
    p->thread_count = 1;
    return true;
}

static int compare_numbers(const struct profile_thread *a, const struct profile_thread *b)
{
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->phase != b->phase)
        return a->phase < b->phase ? -1 : 1;
    if (a->life != b->life)
        return a->life < b->life ? -1 : 1;
    return (a->tid > b->tid) - (a->tid < b->tid);
}

static int compare_places(const void *a, const void *b)
{
    const struct profile_thread *x = *(struct profile_thread *const *)a, *y = *(struct profile_thread *const *)b;
    int numbers = compare_numbers(x, y);
    return numbers ? numbers : (x > y) - (x < y);
}

static void remove_empty(struct profile *p)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->thread_count; i++)
        if (p->threads[i].name)
            p->threads[kept++] = p->threads[i];
    p->thread_count = kept;
}

bool profile_join_threads(struct profile *p, struct err *e)
{
    uint32_t count = p->thread_count, next;
    struct profile_thread **threads = calloc((size_t)count + 1, sizeof(struct profile_thread *));
    bool ok = threads != NULL;
    for (uint32_t i = 0; ok && i < count; i++)
        threads[i] = &p->threads[i];
    if (ok)
        qsort(threads, count, sizeof(struct profile_thread *), compare_places);
    for (uint32_t i = 0; ok && i < count; i = next) {
        for (next = i + 1; next < count && compare_numbers(threads[i], threads[next]) == 0; next++)
            ;
        if (next > i + 1)
            ok = sum_into_first(p, threads + i, next - i, strdup(threads[i]->name));
    }
    free(threads);
    remove_empty(p);
    return ok || no_memory(e);
}
