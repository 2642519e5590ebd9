#include "report/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/chance.h"
#include "report/diff_causes.h"
#include "report/diff_judge.h"
#include "report/path_ids.h"

const char *diff_normalize_name(unsigned by)
{
    static const char *const names[DIFF_NORMALIZES] = {"total", "time", "instructions", "none"};
    return by < DIFF_NORMALIZES ? names[by] : NULL;
}

const char *diff_presence(const struct diff_row *row)
{
    const double *samples = row->change[DIFF_TOTAL].samples;
    return samples[DIFF_BEFORE] > 0 ? samples[DIFF_AFTER] > 0 ? "both" : "gone" : "appeared";
}

/* ---- what values are multiplied by ---- */

/* Instructions that the program executed: as its trigger, or the engine, counted them; 0: neither
 * did. */
static double instructions_of(const struct profile *p)
{
    for (uint32_t m = 0; m < p->metric_count; m++)
        if (!strcmp(p->metrics[m].trigger, "instructions")) {
            struct profile_sampled s = profile_sampled_by(p, profile_trigger_of(p, m));
            return (double)s.weight * (double)p->metrics[m].period;
        }
    return observed_code(p) ? (double)observed_code(p)->instructions : 0;
}

/* A run's weight per what it is normalized by. */
static double rate_of(const struct view *v, enum diff_normalize by)
{
    double weight = (double)v->samples * (double)v->profile->metrics[v->metric].period;
    return by == DIFF_BY_TIME           ? weight / (double)v->profile->duration_ns
           : by == DIFF_BY_INSTRUCTIONS ? weight / instructions_of(v->profile)
                                        : weight;
}

static bool find_scales(struct diff *d, struct err *e)
{
    double before = 0;
    d->scales = calloc(d->run_count + 1u, sizeof *d->scales);
    if (!d->scales)
        return err_set(e, ERR_INTERNAL, "cannot compare: out of memory");
    for (uint32_t r = 0; r < d->run_count; r++) {
        d->scales[r] = d->by == DIFF_BY_TOTAL ? 1 : rate_of(d->runs[r].view, d->by);
        if (!isfinite(d->scales[r]) || !(d->scales[r] > 0))
            return err_set(e, ERR_USAGE,
                           d->by == DIFF_BY_INSTRUCTIONS
                               ? "recording %u has no number of instructions; record -e cpu -e "
                                 "instructions counts them, or record --exact"
                               : "recording %u has no duration, so it cannot be normalized by time",
                           r + 1);
        before += d->runs[r].side == DIFF_BEFORE ? d->scales[r] / d->side_runs[DIFF_BEFORE] : 0;
    }
    for (uint32_t r = 0; r < d->run_count; r++) {
        d->scales[r] /= before;
        d->scale[d->runs[r].side] += d->scales[r] / d->side_runs[d->runs[r].side];
    }
    return true;
}

/* ---- what can be compared ---- */

static const struct profile_metric *metric_of(const struct view *v)
{
    return &v->profile->metrics[v->metric];
}

static bool check_run(const struct view *first, const struct view *v, uint32_t number,
                      struct err *e)
{
    const struct profile_metric *a = metric_of(first), *b = metric_of(v);
    if (!v->samples)
        return err_set(e, ERR_USAGE, "recording %u has no samples, so nothing to compare", number);
    if (strcmp(a->name, b->name) != 0 || strcmp(a->unit, b->unit) != 0)
        return err_set(e, ERR_USAGE,
                       "recording 1 is of %s and recording %u of %s; --metric chooses one that all "
                       "have",
                       a->name, number, b->name);
    bool exact[] = {a->how == METRIC_EXACT, b->how == METRIC_EXACT};
    return (exact[0] == exact[1] && first->of_blocks == v->of_blocks) ||
           err_set(e, ERR_USAGE,
                   "recording %u was %s, and recording 1 was not: penumbra compare says how well "
                   "they agree",
                   number, exact[1] ? "counted in full" : "sampled");
}

/* ---- weights ---- */

/* Of each row by run: weights[(row * DIFF_WEIGHTS + weight) * runs + run]. */
struct weights {
    double *list;
    uint32_t runs;
};

static double *weight_at(const struct weights *w, size_t row, unsigned weight)
{
    return &w->list[(row * DIFF_WEIGHTS + weight) * w->runs];
}

static bool weights_init(struct weights *w, const struct diff *d, size_t rows)
{
    w->runs = d->run_count;
    w->list = calloc((rows + 1) * DIFF_WEIGHTS * w->runs + 1, sizeof *w->list);
    return w->list;
}

/* What was counted in full has no error of sampling. But one run does not tell how the next one
 * differs: then its counts are taken for those of independent events. */
static double draws_of(const struct diff *d, const struct view *v)
{
    bool exact = metric_of(v)->how == METRIC_EXACT;
    if (exact && d->run_count > DIFF_SIDES)
        return INFINITY;
    return exact && !v->of_blocks ? (double)v->samples : v->effective;
}

/* Of a sample's weights, which count periods. */
static double excess_of(const struct view *v)
{
    double all = (double)v->samples;
    bool known = metric_of(v)->how != METRIC_EXACT && v->effective > 0;
    return known ? fmax(0, all * (all / v->effective - 1)) : 0;
}

/* Of what the metric's trigger took, the part that has a weight by it: of bytes allocated, those
 * that are live. */
static double part_of_trigger(const struct view *v)
{
    uint32_t trigger = profile_trigger_of(v->profile, v->metric);
    bool first = !v->metric || profile_trigger_of(v->profile, v->metric - 1) != trigger;
    double taken = (double)profile_sampled_by(v->profile, trigger).weight;
    return first || !(taken > 0) ? 1 : fmin(1, (double)v->samples_all / taken);
}

/* Of a recording's total, if that is what values are multiplied by. Periods drawn from
 * [P/2, 3P/2] have a variance of P^2 / 12; which samples are in a part of them is chance. What
 * samples weigh beyond one period is as likely too much as not. */
static double total_error(const struct diff *d, const struct view *v)
{
    enum { RANDOMIZED = 12 };
    double all = (double)v->samples, part = part_of_trigger(v);
    if (d->by == DIFF_BY_TOTAL)
        return 0;
    if (metric_of(v)->how == METRIC_EXACT)
        return 1 / draws_of(d, v);
    double even = metric_of(v)->how == METRIC_RANDOMIZED ? all * (1 - part + part / RANDOMIZED)
                                                         : all * (1 - part);
    return (even + excess_of(v)) / all / all;
}

/* of_shares: as if by total, which says how rows differ from each other. */
static bool judge_all(const struct diff *d, const struct weights *w, struct diff_rows *rows,
                      bool of_shares)
{
    double *values = calloc(d->run_count + 1u, sizeof *values);
    struct diff_draws *runs = calloc(d->run_count + 1u, sizeof *runs);
    for (uint32_t r = 0; runs && r < d->run_count; r++) {
        const struct view *v = d->runs[r].view;
        runs[r] = (struct diff_draws){
            .side = d->runs[r].side, .all = (double)v->samples,
            .n = draws_of(d, v) / d->dispersion, .scale = of_shares ? 1 : d->scales[r],
            .scale_error = of_shares ? 0 : total_error(d, v) * d->dispersion,
            .excess = excess_of(v)};
    }
    bool ok = values && runs;
    for (uint32_t i = 0; ok && i < rows->count; i++)
        for (unsigned k = 0; k < DIFF_WEIGHTS; k++) {
            struct diff_change *c = &rows->list[i].change[k];
            *c = (struct diff_change){0};
            diff_judge(runs, d->run_count, weight_at(w, i, k), values, c);
        }
    for (unsigned k = 0; ok && k < DIFF_WEIGHTS; k++)
        ok = !rows->count ||
             diff_adjust(&rows->list->change[k], sizeof *rows->list, rows->count);
    free(values);
    free(runs);
    return ok;
}

/* By rows' own samples, of which each is in one row. */
static bool find_dispersion(struct diff *d, const struct diff_rows *rows)
{
    double *p = calloc(rows->count + 1u, sizeof *p);
    for (uint32_t i = 0; p && i < rows->count; i++)
        p[i] = rows->list[i].change[DIFF_SELF].p;
    bool ok = p;
    d->dispersion = ok ? fmax(d->dispersion, chance_dispersion(p, rows->count)) : 1;
    free(p);
    return ok;
}

/* ---- rows ---- */

static bool rows_init(struct diff_rows *rows, const struct diff *d, size_t most)
{
    bool causes = diff_has_causes(d->runs, d->run_count);
    rows->list = calloc(most + 1, sizeof *rows->list);
    rows->causes = causes ? calloc(most + 1, sizeof *rows->causes) : NULL;
    return rows->list && (rows->causes || !causes);
}

static void causes_add(const struct diff *d, const struct diff_rows *rows, uint32_t row,
                       enum diff_weight weight, uint32_t run, const uint64_t *weights, double sign)
{
    unsigned side = d->runs[run].side;
    if (rows->causes)
        diff_causes_add(&rows->causes[row], weight, side, weights, sign / d->side_runs[side]);
}

static uint32_t function_at(const struct diff *d, uint32_t run, uint32_t function)
{
    return d->names.functions[d->names.ids[run][function]].same;
}

static bool make_functions(struct diff *d, struct weights *w)
{
    struct diff_rows *rows = &d->functions;
    uint32_t *row_of = calloc(d->names.count + 1u, sizeof *row_of); /* index + 1 */
    bool ok = weights_init(w, d, d->names.count) && rows_init(rows, d, d->names.count) && row_of;
    for (uint32_t r = 0; ok && r < d->run_count; r++)
        for (uint32_t i = 0; i < d->runs[r].view->function_count; i++) {
            const struct view_function *f = &d->runs[r].view->functions[i];
            uint32_t id = function_at(d, r, i);
            if (!f->total)
                continue;
            if (!row_of[id]) {
                rows->list[rows->count] = (struct diff_row){.function = id, .parent = VIEW_NONE};
                row_of[id] = ++rows->count;
            }
            weight_at(w, row_of[id] - 1, DIFF_SELF)[r] += (double)f->self;
            weight_at(w, row_of[id] - 1, DIFF_TOTAL)[r] += (double)f->total;
            causes_add(d, rows, row_of[id] - 1, DIFF_SELF, r,
                       view_function_weights(d->runs[r].view, f), 1);
        }
    free(row_of);
    return ok;
}

/* What a context has is not its caller's own. */
static void add_context_causes(const struct diff *d, uint32_t run, uint32_t row,
                               const uint64_t *weights)
{
    uint32_t caller = d->contexts.list[row].parent;
    causes_add(d, &d->contexts, row, DIFF_TOTAL, run, weights, 1);
    causes_add(d, &d->contexts, row, DIFF_SELF, run, weights, 1);
    if (caller != VIEW_NONE)
        causes_add(d, &d->contexts, caller, DIFF_SELF, run, weights, -1);
}

/* The contexts of one run. Rows are in the order of their numbers. */
static bool add_contexts(struct diff *d, uint32_t run, struct path_ids *paths,
                         const struct weights *w)
{
    const struct view_tree *t = &d->runs[run].view->tree;
    uint64_t *path_of = calloc((size_t)t->count + 1, sizeof *path_of);
    for (uint32_t i = 0; path_of && i < t->count; i++) {
        const struct view_node *n = &t->nodes[i];
        /* A parent's index is smaller than its children's. */
        uint64_t parent = n->parent == VIEW_NONE ? 0 : path_of[n->parent];
        uint32_t function = function_at(d, run, n->function);
        if (!n->total) {
            path_of[i] = parent;
            continue;
        }
        path_of[i] = path_ids_find(paths, parent, function);
        uint32_t row = (uint32_t)path_of[i] - 1;
        if (row == d->contexts.count)
            d->contexts.list[d->contexts.count++] = (struct diff_row){
                .function = function, .parent = parent ? (uint32_t)parent - 1 : VIEW_NONE};
        weight_at(w, row, DIFF_SELF)[run] += (double)n->self;
        weight_at(w, row, DIFF_TOTAL)[run] += (double)n->total;
        add_context_causes(d, run, row, view_tree_weights(t, i));
    }
    bool ok = path_of;
    free(path_of);
    return ok;
}

static bool make_contexts(struct diff *d, struct weights *w)
{
    struct path_ids paths = {0};
    size_t nodes = 0;
    for (uint32_t r = 0; r < d->run_count; r++)
        nodes += d->runs[r].view->tree.count;
    bool ok = path_ids_init(&paths, nodes) && weights_init(w, d, nodes) &&
              rows_init(&d->contexts, d, nodes);
    for (uint32_t r = 0; ok && r < d->run_count; r++)
        ok = add_contexts(d, r, &paths, w);
    path_ids_fini(&paths);
    return ok;
}

static bool judge_both(struct diff *d, const struct weights *functions,
                       const struct weights *contexts, bool of_shares)
{
    return judge_all(d, functions, &d->functions, of_shares) &&
           judge_all(d, contexts, &d->contexts, of_shares);
}

/* One recording a side: first by shares, for the dispersion. */
static bool judge_rows(struct diff *d, const struct weights *functions,
                       const struct weights *contexts)
{
    d->dispersion = 1;
    /* In another machine most rows differ, and that is no chance. */
    bool alone = d->run_count <= DIFF_SIDES && !d->functions.causes;
    if (alone && (!judge_both(d, functions, contexts, true) || !find_dispersion(d, &d->functions) ||
                  !find_dispersion(d, &d->contexts)))
        return false;
    return judge_both(d, functions, contexts, false);
}

static bool make_rows(struct diff *d)
{
    struct weights functions = {0}, contexts = {0};
    bool ok = make_functions(d, &functions) && make_contexts(d, &contexts) &&
              judge_rows(d, &functions, &contexts);
    free(functions.list);
    free(contexts.list);
    return ok;
}

/* ---- the whole ---- */

struct diff *diff_build(const struct diff_run *runs, uint32_t count, enum diff_normalize by,
                        bool shapes, struct err *e)
{
    struct diff *d = calloc(1, sizeof *d);
    if (!d) {
        err_set(e, ERR_INTERNAL, "cannot compare: out of memory");
        return NULL;
    }
    *d = (struct diff){.runs = runs, .run_count = count, .by = by};
    bool ok = true;
    for (uint32_t r = 0; ok && r < count; r++) {
        d->side_runs[runs[r].side]++;
        ok = check_run(runs[0].view, runs[r].view, r + 1, e);
    }
    ok = ok && find_scales(d, e) && diff_names_make(&d->names, runs, count, shapes, e);
    if (ok && !make_rows(d))
        ok = err_set(e, ERR_INTERNAL, "cannot compare: out of memory");
    if (ok)
        return d;
    diff_free(d);
    return NULL;
}

void diff_free(struct diff *d)
{
    if (!d)
        return;
    diff_names_fini(&d->names);
    free(d->functions.list);
    free(d->functions.causes);
    free(d->contexts.list);
    free(d->contexts.causes);
    free(d->scales);
    free(d);
}

struct order_context {
    const struct diff_row *rows;
    enum diff_weight weight;
};

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct order_context *c = context;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const struct diff_change *x = &c->rows[i].change[c->weight], *y = &c->rows[k].change[c->weight];
    if (diff_is_significant(x) != diff_is_significant(y))
        return diff_is_significant(x) ? -1 : 1;
    double u = fabs(diff_difference(x)), v = fabs(diff_difference(y));
    if (u > v || u < v)
        return u > v ? -1 : 1;
    return (i > k) - (i < k);
}

uint32_t *diff_order(const struct diff_rows *rows, enum diff_weight weight, struct err *e)
{
    uint32_t *order = calloc((size_t)rows->count + 1, sizeof *order);
    struct order_context c = {rows->list, weight};
    if (!order) {
        err_set(e, ERR_INTERNAL, "cannot sort differences: out of memory");
        return NULL;
    }
    for (uint32_t i = 0; i < rows->count; i++)
        order[i] = i;
    if (rows->count)
        qsort_r(order, rows->count, sizeof *order, compare_rows, &c);
    return order;
}
