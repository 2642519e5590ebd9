#include "profile/merge.h"

#include <stdlib.h>
#include <string.h>

#include "profile/timeline.h"
#include "profile/tree_sum.h"

/* line: what the thread's moments are added to. */
static bool add_tree(struct tree_sum *s, const struct profile_thread *t,
                     struct profile_timeline **line)
{
    uint32_t *index_of = calloc((size_t)t->node_count + 1, sizeof *index_of);
    bool ok = index_of && tree_sum_add(s, t->nodes, t->node_count, index_of) &&
              (!t->timeline || profile_timeline_join(line, t->timeline, index_of));
    free(index_of);
    return ok;
}

/* The moments name the nodes by their places. */
static struct profile_node *in_preorder(struct tree_sum *s, struct profile_timeline *line)
{
    uint32_t *place = calloc(s->count, sizeof *place);
    struct profile_node *out = place ? tree_sum_preorder(s, place) : NULL;
    for (uint32_t i = 0; out && line && i < line->count; i++)
        if (line->list[i].node != PROFILE_REST)
            line->list[i].node = place[line->list[i].node];
    profile_timeline_settle(line);
    free(place);
    return out;
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
static struct profile_timeline *timeline_for(struct profile_thread *const *threads, uint32_t count,
                                             bool *ok)
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

/* Into the first of `count` threads; the others are emptied. The name is to be on the heap, and is
 * the sum's then. */
static bool sum_into_first(const struct profile *p, struct profile_thread *const *threads,
                           uint32_t count, char *name)
{
    struct tree_sum s = {0};
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
    tree_sum_fini(&s);
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

bool profile_thread_settle(const struct profile *p, struct profile_thread *t)
{
    return sum_into_first(p, &t, 1, strdup(t->name));
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
    const struct profile_thread *x = *(struct profile_thread *const *)a,
                                *y = *(struct profile_thread *const *)b;
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
