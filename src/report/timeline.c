#include "report/timeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/timeline.h"
#include "report/marks.h"

static const struct timeline_size json_size = {.columns = 2048, .threads = 200, .functions = 50};

bool timeline_check(const struct view *v, const struct view_options *options, struct err *e)
{
    const struct profile *p = v->profile;
    bool any = false;
    for (uint32_t i = 0; i < p->thread_count; i++)
        any |= v->threads_chosen[i] && profile_timeline_has(p->threads[i].timeline, 0);
    if (options->image || options->through_count)
        return err_set(e, ERR_USAGE,
                       "--timeline shows all samples of threads; it cannot be had with --image or "
                       "--through");
    if (v->metric)
        return err_set(e, ERR_USAGE,
                       "--timeline does not go with --metric %s: it is known when memory was "
                       "allocated, but not when it was live",
                       p->metrics[v->metric].name);
    if (!any && profile_timeline_width(p) && !profile_timeline_knows(p, 0))
        return err_set(e, ERR_USAGE, "this profile does not tell when samples of %s were taken",
                       p->metrics[0].name);
    return any ||
           err_set(e, ERR_USAGE,
                   "nothing in this profile tells when its samples fell: it was recorded with "
                   "--no-timeline or --exact, or by an earlier version, or none were taken");
}

static bool no_memory(struct err *e)
{
    return err_set(e, ERR_INTERNAL, "cannot make the timeline: out of memory");
}

/* ---- which function a node's samples are in ---- */

struct lookup {
    const struct view *view;
    uint32_t *order; /* functions by name and image */
    uint32_t count;
    uint32_t *row;   /* by function: its row, or VIEW_NONE */
};

static int compare_functions(const struct view_function *a, const struct view_function *b)
{
    int order = strcmp(a->name, b->name);
    return order ? order : (a->image > b->image) - (a->image < b->image);
}

static int compare_order(const void *a, const void *b, void *context)
{
    const struct view_function *f = context;
    return compare_functions(&f[*(const uint32_t *)a], &f[*(const uint32_t *)b]);
}

static bool lookup_make(struct lookup *l, const struct view *v)
{
    *l = (struct lookup){v, calloc((size_t)v->function_count + 1, sizeof *l->order),
                         v->function_count, calloc((size_t)v->function_count + 1, sizeof *l->row)};
    for (uint32_t i = 0; l->order && l->row && i < l->count; i++) {
        l->order[i] = i;
        l->row[i] = VIEW_NONE;
    }
    if (l->order && l->row)
        qsort_r(l->order, l->count, sizeof *l->order, compare_order, v->functions);
    return l->order && l->row;
}

static void lookup_free(struct lookup *l)
{
    free(l->order);
    free(l->row);
}

/* The row of the innermost function there; where lines are shown, of all its lines. */
static uint32_t row_of(const struct lookup *l, const struct profile_thread *t, uint32_t node)
{
    const struct view *v = l->view;
    const struct profile *p = v->profile;
    const struct profile_node *n = &t->nodes[node];
    struct symbol_location where =
        symbols_find(v->symbols, &p->processes[t->process], n->image, n->offset);
    for (uint32_t i = 0; i < where.count; i++) {
        const struct view_function key = {.name = where.frames[i].function, .image = n->image};
        uint32_t low = ARRAY_LEADING(l->count, k,
                                     compare_functions(&v->functions[l->order[k]], &key) < 0);
        if (low < l->count && compare_functions(&v->functions[l->order[low]], &key) == 0)
            return l->row[l->order[low]];
    }
    return VIEW_NONE;
}

/* ---- columns ---- */

/* Where a column begins. What a damaged profile says may be more than a number can hold. */
static uint64_t column_ns(const struct timeline_view *t, uint64_t column)
{
    uint64_t ns;
    if (__builtin_mul_overflow(column, t->width_ns, &ns) ||
        __builtin_add_overflow(t->from_ns, ns, &ns))
        return UINT64_MAX;
    return ns;
}

static void spread(const struct timeline_view *t, double *columns, struct profile_stretch s,
                   double weight)
{
    uint64_t end = column_ns(t, t->columns);
    double density = weight / (double)(s.to_ns - s.from_ns);
    uint64_t at = s.from_ns > t->from_ns ? s.from_ns : t->from_ns,
             to = s.to_ns < end ? s.to_ns : end;
    /* What lies outside, as bins are wider than the time, is the first column's or the last
     * one's. */
    if (at >= to) {
        columns[s.from_ns >= end ? t->columns - 1 : 0] += weight;
        return;
    }
    columns[0] += density * (double)(at - s.from_ns);
    columns[t->columns - 1] += density * (double)(s.to_ns - to);
    while (at < to) {
        uint64_t column = (at - t->from_ns) / t->width_ns, next = column_ns(t, column + 1);
        next = next < to ? next : to;
        columns[column] += density * (double)(next - at);
        at = next;
    }
}

static bool thread_spread(const struct timeline_view *t, const struct lookup *l,
                          struct timeline_row *row, const struct profile_thread *thread)
{
    const struct profile_timeline *line = thread->timeline;
    uint32_t *rows = calloc((size_t)thread->node_count + 1, sizeof *rows);
    for (uint32_t i = 0; rows && i < line->count; i++) {
        const struct profile_moment *m = &line->list[i];
        struct profile_stretch s = profile_moment_stretch(line, m);
        if (m->metric)
            continue;
        row->sum += (double)m->weight;
        spread(t, row->columns, s, (double)m->weight);
        if (m->node == PROFILE_REST)
            continue;
        if (!rows[m->node]) /* 2 + the row, or 1 */
            rows[m->node] = row_of(l, thread, m->node) + 2;
        if (rows[m->node] > 1) {
            t->functions[rows[m->node] - 2].sum += (double)m->weight;
            spread(t, t->functions[rows[m->node] - 2].columns, s, (double)m->weight);
        }
    }
    free(rows);
    return rows != NULL;
}
_Static_assert(VIEW_NONE + 2 == 1, "no row");

static double thread_sum(const struct profile_thread *thread)
{
    double sum = 0;
    for (uint32_t i = 0; i < thread->timeline->count; i++)
        sum += thread->timeline->list[i].metric ? 0 : (double)thread->timeline->list[i].weight;
    return sum;
}

static int compare_rows(const void *a, const void *b)
{
    const struct timeline_row *x = a, *y = b;
    if (x->sum != y->sum)
        return x->sum > y->sum ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static int compare_threads(const void *a, const void *b, void *context)
{
    const struct profile_thread *threads = context;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const struct profile_thread *x = &threads[i], *y = &threads[k];
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return (i > k) - (i < k);
}

/* One row a thread, whichever phases it was in. Returns how many; false in *ok without memory. */
static uint32_t thread_rows(const struct view *v, uint32_t *row_of_thread, bool *ok)
{
    const struct profile *p = v->profile;
    uint32_t *order = calloc((size_t)p->thread_count + 1, sizeof *order), rows = 0, chosen = 0;
    const struct profile_thread *last = NULL;
    *ok = order != NULL;
    for (uint32_t i = 0; order && i < p->thread_count; i++) {
        row_of_thread[i] = VIEW_NONE;
        if (v->threads_chosen[i] && profile_timeline_has(p->threads[i].timeline, 0))
            order[chosen++] = i;
    }
    if (order)
        qsort_r(order, chosen, sizeof *order, compare_threads, p->threads);
    for (uint32_t i = 0; i < chosen; i++) {
        const struct profile_thread *t = &p->threads[order[i]];
        rows += !last || last->process != t->process || last->tid != t->tid;
        row_of_thread[order[i]] = rows - 1;
        last = t;
    }
    free(order);
    return rows;
}

/* Of threads' rows: which ones are kept, those with the most weight; the others become the row
 * behind them. Returns how many are kept; false in *ok without memory. */
static uint32_t thread_rows_choose(const struct profile *p, uint32_t *row_of_thread, uint32_t rows,
                                   uint32_t most, bool *ok)
{
    struct timeline_row *sums = calloc((size_t)rows + 1, sizeof *sums);
    uint32_t *kept = calloc((size_t)rows + 1, sizeof *kept);
    *ok &= sums && kept;
    if (sums && kept && rows > most) {
        for (uint32_t i = 0; i < rows; i++)
            sums[i].index = i;
        for (uint32_t i = 0; i < p->thread_count; i++)
            if (row_of_thread[i] != VIEW_NONE)
                sums[row_of_thread[i]].sum += thread_sum(&p->threads[i]);
        qsort(sums, rows, sizeof *sums, compare_rows);
        for (uint32_t i = 0; i < rows; i++)
            kept[sums[i].index] = i < most ? i : most;
        for (uint32_t i = 0; i < p->thread_count; i++)
            if (row_of_thread[i] != VIEW_NONE)
                row_of_thread[i] = kept[row_of_thread[i]];
    }
    free(sums);
    free(kept);
    return rows < most ? rows : most;
}

static void functions_choose(struct timeline_view *t, struct lookup *l, const uint32_t *order,
                             uint32_t count, uint32_t most)
{
    const struct view *v = t->view;
    for (uint32_t i = 0; i < count && t->function_count < most; i++) {
        const struct view_function *f = &v->functions[order[i]];
        uint32_t first = VIEW_NONE;
        /* Rows are by name and image. */
        for (uint32_t k = 0; k < t->function_count; k++)
            if (compare_functions(&v->functions[t->functions[k].index], f) == 0)
                first = k;
        if (!f->self || first != VIEW_NONE)
            continue;
        t->functions[t->function_count++].index = order[i];
    }
    for (uint32_t i = 0; i < l->count; i++)
        for (uint32_t k = 0; k < t->function_count && l->row[i] == VIEW_NONE; k++)
            if (compare_functions(&v->functions[t->functions[k].index], &v->functions[i]) == 0)
                l->row[i] = k;
}

static void columns_make(struct timeline_view *t, const struct profile *p, uint32_t columns)
{
    uint64_t end, last = 0;
    if (__builtin_add_overflow(p->kept_from_ns, p->duration_ns, &end))
        end = UINT64_MAX;
    t->from_ns = p->kept_from_ns;
    t->bin_ns = profile_timeline_width(p);
    for (uint32_t i = 0; i < p->thread_count; i++) {
        const struct profile_timeline *line = p->threads[i].timeline;
        if (line && line->count) {
            uint64_t to = profile_moment_stretch(line, &line->list[line->count - 1]).from_ns;
            last = to > last ? to : last;
        }
    }
    /* Of a recovered profile the duration is not known to the last moment. */
    if (end < last && !p->kept_from_ns)
        end = last;
    uint64_t length = end > t->from_ns ? end - t->from_ns : 1;
    t->width_ns = (length - 1) / columns + 1;
    t->columns = (uint32_t)((length - 1) / t->width_ns + 1);
}

static bool rows_make(struct timeline_view *t, const struct view *v, uint32_t *row_of_thread,
                      const struct timeline_size *most)
{
    bool ok;
    uint32_t all = thread_rows(v, row_of_thread, &ok), functions = most->functions;
    uint32_t threads = thread_rows_choose(v->profile, row_of_thread, all, most->threads, &ok);
    size_t rows = 2 + (size_t)threads + functions;
    t->threads = calloc((size_t)threads + 1, sizeof *t->threads);
    t->functions = calloc((size_t)functions + 1, sizeof *t->functions);
    t->cells = calloc(rows * t->columns, sizeof *t->cells);
    if (!ok || !t->threads || !t->functions || !t->cells)
        return false;
    t->all.columns = t->cells;
    for (uint32_t i = 0; i < threads; i++)
        t->threads[i] =
            (struct timeline_row){VIEW_NONE, 0, t->cells + (1 + (size_t)i) * t->columns};
    for (uint32_t i = 0; i < functions; i++)
        t->functions[i].columns = t->cells + (1 + (size_t)threads + i) * t->columns;
    t->others = (struct timeline_row){VIEW_NONE, 0, t->cells + (rows - 1) * t->columns};
    t->other_count = all - threads;
    t->thread_count = threads;
    return true;
}

static void row_add(struct timeline_view *t, const struct timeline_row *row)
{
    t->all.sum += row->sum;
    for (uint32_t k = 0; k < t->columns; k++)
        t->all.columns[k] += row->columns[k];
}

static bool rows_fill(struct timeline_view *t, const struct lookup *l,
                      const uint32_t *row_of_thread)
{
    const struct profile *p = t->view->profile;
    for (uint32_t i = 0; i < p->thread_count; i++) {
        if (row_of_thread[i] == VIEW_NONE)
            continue;
        struct timeline_row *row =
            row_of_thread[i] < t->thread_count ? &t->threads[row_of_thread[i]] : &t->others;
        row->index = row->index == VIEW_NONE ? i : row->index;
        if (!thread_spread(t, l, row, &p->threads[i]))
            return false;
    }
    row_add(t, &t->others);
    for (uint32_t i = 0; i < t->thread_count; i++)
        row_add(t, &t->threads[i]);
    qsort(t->threads, t->thread_count, sizeof *t->threads, compare_rows);
    qsort(t->functions, t->function_count, sizeof *t->functions, compare_rows);
    return true;
}

bool timeline_make(struct timeline_view *t, const struct view *v, const struct timeline_size *most,
                   struct err *e)
{
    uint32_t count;
    struct lookup l = {0};
    *t = (struct timeline_view){.view = v};
    columns_make(t, v->profile, most->columns);
    uint32_t *order = view_order(v, &count, e);
    uint32_t *row_of_thread = calloc((size_t)v->profile->thread_count + 1, sizeof *row_of_thread);
    bool ok = order && row_of_thread && lookup_make(&l, v) && rows_make(t, v, row_of_thread, most);
    if (ok) {
        functions_choose(t, &l, order, count, most->functions);
        ok = rows_fill(t, &l, row_of_thread);
    }
    lookup_free(&l);
    free(order);
    free(row_of_thread);
    if (ok)
        return true;
    timeline_free(t);
    no_memory(e);
    return false;
}

void timeline_free(struct timeline_view *t)
{
    free(t->threads);
    free(t->functions);
    free(t->cells);
    *t = (struct timeline_view){0};
}

/* ---- JSON ---- */

static void write_columns(struct json *j, const struct timeline_view *t,
                          const struct timeline_row *row)
{
    json_key(j, "samples");
    json_open(j, '[');
    for (uint32_t i = 0; i < t->columns; i++)
        json_double(j, round(row->columns[i] * 1000) / 1000);
    json_close(j, ']');
}

static void write_rows(struct json *j, const struct timeline_view *t)
{
    const struct profile *p = t->view->profile;
    json_key(j, "threads");
    json_open(j, '[');
    for (uint32_t i = 0; i < t->thread_count; i++) {
        const struct profile_thread *thread = &p->threads[t->threads[i].index];
        json_open(j, '{');
        json_key(j, "pid");
        json_i64(j, p->processes[thread->process].pid);
        json_key(j, "tid");
        json_i64(j, thread->tid);
        json_key_string(j, "name", thread->name);
        write_columns(j, t, &t->threads[i]);
        json_close(j, '}');
    }
    json_close(j, ']');
    if (t->other_count) {
        json_key(j, "other_threads");
        json_open(j, '{');
        json_key_u64(j, "count", t->other_count);
        write_columns(j, t, &t->others);
        json_close(j, '}');
    }
    json_key(j, "functions");
    json_open(j, '[');
    for (uint32_t i = 0; i < t->function_count; i++) {
        const struct view_function *f = &t->view->functions[t->functions[i].index];
        json_open(j, '{');
        json_key_string(j, "name", f->name);
        json_key_string(j, "image", f->image_name);
        write_columns(j, t, &t->functions[i]);
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* As fine as bins are, where those are not too many. */
bool timeline_json(struct json *j, const struct view *v, struct err *e)
{
    struct timeline_view t;
    struct timeline_size size = json_size;
    uint64_t bin = profile_timeline_width(v->profile);
    uint64_t more = bin ? v->profile->duration_ns / bin : 0;
    if (more < size.columns)
        size.columns = (uint32_t)more + 1;
    if (!timeline_make(&t, v, &size, e))
        return false;
    json_key(j, "timeline");
    json_open(j, '{');
    json_key_u64(j, "from_ns", t.from_ns);
    json_key_u64(j, "width_ns", t.width_ns);
    json_key_u64(j, "bin_ns", t.bin_ns);
    write_columns(j, &t, &t.all);
    write_rows(j, &t);
    bool ok = marks_json(j, v->profile) || no_memory(e);
    json_close(j, '}');
    timeline_free(&t);
    return ok;
}
