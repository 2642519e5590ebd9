#include "report/page_times.h"

#include <stdlib.h>

#include "base/saturate.h"
#include "profile/shares.h"
#include "profile/timeline.h"
#include "report/marks.h"

/* Columns are as wide as the narrowest bins, or wider: so many at most, and so many moments where
 * there are more than so few columns. */
enum { COLUMNS_MOST = 8192, COLUMNS_FEW = 128, MOMENTS_MOST = 1000000 };

struct moment {
    uint32_t thread, column, span, node;
    uint64_t weight;
};

struct times {
    const struct page_tree *tree;
    uint64_t from_ns, to_ns, width_ns;
    uint32_t columns;
    struct moment *list;
    size_t count;
};

static int compare(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return (x->span > y->span) - (x->span < y->span);
}

/* Sorts them; those that differ by weight only become one. */
static void settle(struct times *t)
{
    size_t kept = 0;
    if (t->count)
        qsort(t->list, t->count, sizeof *t->list, compare);
    for (size_t i = 0; i < t->count; i++)
        if (kept && compare(&t->list[kept - 1], &t->list[i]) == 0)
            t->list[kept - 1].weight = add_saturated(t->list[kept - 1].weight, t->list[i].weight);
        else
            t->list[kept++] = t->list[i];
    t->count = kept;
}

/* What lies outside is in the first column, or the last. */
static uint32_t column_of(const struct times *t, uint64_t ns)
{
    uint64_t column = ns > t->from_ns ? (ns - t->from_ns) / t->width_ns : 0;
    return column < t->columns ? (uint32_t)column : t->columns - 1;
}

/* Nodes of a thread that shares a tree are those of the one that has it. */
static const uint32_t *places_of(const struct view *v, uint32_t thread)
{
    const struct profile_shares *s = v->profile->threads[thread].shares;
    return v->places[s ? s->tree : thread];
}

static void thread_add(struct times *t, uint32_t thread)
{
    const struct view *v = t->tree->view;
    const struct profile_timeline *line = v->profile->threads[thread].timeline;
    const uint32_t *places = places_of(v, thread);
    for (uint32_t i = 0; line && places && i < line->count; i++) {
        const struct profile_moment *m = &line->list[i];
        struct profile_stretch s = profile_moment_stretch(line, m);
        if (m->metric)
            continue;
        uint32_t last = column_of(t, s.to_ns - 1);
        bool rest = m->node == PROFILE_REST;
        t->list[t->count++] = (struct moment){
            thread, last, last - column_of(t, s.from_ns),
            rest ? 0 : t->tree->place[places[m->node]] + 1, m->weight};
    }
}

static size_t moments_most(const struct profile *p)
{
    size_t count = 0;
    for (uint32_t i = 0; i < p->thread_count; i++)
        count += p->threads[i].timeline ? p->threads[i].timeline->count : 0;
    return count;
}

/* Of a recovered profile the duration is not known to the last moment. */
static uint64_t end_of(const struct profile *p)
{
    uint64_t end = add_saturated(p->kept_from_ns, p->duration_ns), last = 0;
    for (uint32_t i = 0; i < p->thread_count; i++) {
        const struct profile_timeline *t = p->threads[i].timeline;
        if (!t || !t->count)
            continue;
        uint64_t from = profile_moment_stretch(t, &t->list[t->count - 1]).from_ns;
        last = from > last ? from : last;
    }
    return last > end && !p->kept_from_ns ? last : end;
}

static void columns_set(struct times *t, uint64_t width_ns)
{
    uint64_t length = t->to_ns > t->from_ns ? t->to_ns - t->from_ns : 1;
    while ((length - 1) / width_ns >= COLUMNS_MOST)
        width_ns *= 2;
    t->width_ns = width_ns;
    t->columns = (uint32_t)((length - 1) / width_ns + 1);
}

static uint64_t narrowest(const struct profile *p)
{
    uint32_t shift = TIMELINE_SHIFT_MAX;
    for (uint32_t i = 0; i < p->thread_count; i++)
        if (p->threads[i].timeline && p->threads[i].timeline->shift < shift)
            shift = p->threads[i].timeline->shift;
    return UINT64_C(1) << shift;
}

static void times_fill(struct times *t)
{
    const struct view *v = t->tree->view;
    for (uint64_t width = narrowest(v->profile);; width = t->width_ns * 2) {
        columns_set(t, width);
        t->count = 0;
        for (uint32_t i = 0; i < v->profile->thread_count; i++)
            if (v->threads_chosen[i])
                thread_add(t, i);
        settle(t);
        if (t->count <= MOMENTS_MOST || t->columns <= COLUMNS_FEW)
            return;
    }
}

static void write_threads(struct json *j, const struct times *t)
{
    json_key(j, "threads");
    json_open(j, '[');
    for (size_t i = 0; i < t->count;) {
        uint32_t thread = t->list[i].thread, last = 0;
        json_open(j, '{');
        json_key_u64(j, "thread", thread);
        json_key(j, "moments");
        json_open(j, '[');
        for (; i < t->count && t->list[i].thread == thread; i++) {
            json_u64(j, t->list[i].column - last);
            json_u64(j, t->list[i].span);
            json_u64(j, t->list[i].node);
            json_u64(j, t->list[i].weight);
            last = t->list[i].column;
        }
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, ']');
}

static bool are_known(const struct view *v)
{
    return v->places && !v->metric && profile_timeline_width(v->profile) &&
           profile_timeline_knows(v->profile, 0);
}

bool page_times_write(struct json *j, const struct page_tree *tree)
{
    const struct profile *p = tree->view->profile;
    struct times t = {.tree = tree,
                      .from_ns = p->kept_from_ns,
                      .to_ns = end_of(p)};
    if (!are_known(tree->view))
        return true;
    t.list = calloc(moments_most(p) + 1, sizeof *t.list);
    if (!t.list)
        return false;
    times_fill(&t);
    json_key(j, "times");
    json_open(j, '{');
    json_key_u64(j, "from_ns", t.from_ns);
    json_key_u64(j, "width_ns", t.width_ns);
    json_key_u64(j, "bin_ns", profile_timeline_width(p));
    json_key_u64(j, "columns", t.columns);
    write_threads(j, &t);
    bool ok = marks_json(j, p);
    json_close(j, '}');
    free(t.list);
    return ok;
}
