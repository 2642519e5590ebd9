#include "report/ranks.h"

#include <math.h>
#include <stdlib.h>

#include "report/text.h"

enum { INDENT_MOST = 40, NUMBER_COLUMNS = 11 };

static bool same_function(const struct view_function *a, const struct view_function *b)
{
    return a->name == b->name && a->image == b->image && a->file == b->file && a->line == b->line;
}

/* The node of v that n, whose parent is `parent` in v, is. Names are interned by the symbols that
 * both views have. */
static uint32_t find_child(const struct view *v, uint32_t parent, const struct view_function *f,
                           bool inlined)
{
    uint32_t child = v->tree.nodes[parent].first_child;
    while (child != VIEW_NONE && (v->tree.nodes[child].inlined != inlined ||
                                  !same_function(&v->functions[v->tree.nodes[child].function], f)))
        child = v->tree.nodes[child].next_sibling;
    return child;
}

static void spread_add(struct rank_spread *s, uint64_t total, uint32_t rank)
{
    s->sum += total;
    if (total > s->max) {
        s->max = total;
        s->slowest = rank;
    }
    if (total < s->min)
        s->min = total;
}

/* What one rank has: totals by function and by node of the whole view. one: the rank's view, or
 * NULL if nothing of it is shown. */
static bool totals_of_rank(const struct view *v, const struct view *one, uint64_t *functions,
                           uint64_t *nodes)
{
    uint32_t *map = one ? calloc(one->tree.count, sizeof *map) : NULL;
    for (uint32_t i = 0; i < v->function_count; i++)
        functions[i] = 0;
    for (uint32_t i = 0; i < v->tree.count; i++)
        nodes[i] = 0;
    if (!one)
        return true;
    if (!map)
        return false;
    for (uint32_t i = 0; i < one->tree.count; i++) {
        const struct view_node *n = &one->tree.nodes[i];
        const struct view_function *f = &one->functions[n->function];
        uint32_t parent = i ? map[n->parent] : 0;
        map[i] = i && parent != VIEW_NONE ? find_child(v, parent, f, n->inlined) : parent;
        if (map[i] == VIEW_NONE)
            continue;
        nodes[map[i]] = n->total;
        functions[v->tree.nodes[map[i]].function] = f->total;
    }
    free(map);
    return true;
}

static bool add_rank(struct ranks *r, const struct view *v, const struct view_options *options,
                     uint32_t rank)
{
    struct err ignored = {0}; /* a filter that matches nothing of this rank's */
    struct view_options of_rank = *options;
    of_rank.rank = rank + 1;
    struct view *one = view_build(v->profile, v->symbols, &of_rank, &ignored);
    uint64_t *functions = calloc((size_t)v->function_count + 1, sizeof *functions);
    uint64_t *nodes = calloc((size_t)v->tree.count + 1, sizeof *nodes);
    bool ok = functions && nodes && (one || ignored.code == ERR_USAGE) &&
              totals_of_rank(v, one, functions, nodes);
    for (uint32_t i = 0; ok && i < v->function_count; i++)
        spread_add(&r->functions[i], functions[i], rank);
    for (uint32_t i = 0; ok && i < v->tree.count; i++)
        spread_add(&r->nodes[i], nodes[i], rank);
    r->count += ok;
    free(functions);
    free(nodes);
    view_free(one);
    return ok;
}

static bool is_first_of_rank(const struct profile *p, uint32_t process)
{
    uint32_t rank = p->processes[process].rank;
    for (uint32_t i = 0; i < process; i++)
        if (p->processes[i].rank == rank)
            return false;
    return rank != 0;
}

struct ranks *ranks_compute(const struct view *v, const struct view_options *options, struct err *e)
{
    const struct profile *p = v->profile;
    struct ranks *r = calloc(1, sizeof *r);
    bool ok = r != NULL;
    if (ok) {
        r->functions = calloc((size_t)v->function_count + 1, sizeof *r->functions);
        r->nodes = calloc((size_t)v->tree.count + 1, sizeof *r->nodes);
        ok = r->functions && r->nodes;
    }
    for (uint32_t i = 0; ok && i < v->function_count; i++)
        r->functions[i].min = UINT64_MAX;
    for (uint32_t i = 0; ok && i < v->tree.count; i++)
        r->nodes[i].min = UINT64_MAX;
    for (uint32_t i = 0; ok && i < p->process_count; i++)
        if (is_first_of_rank(p, i))
            ok = add_rank(r, v, options, p->processes[i].rank - 1);
    if (ok)
        return r;
    ranks_free(r);
    err_set(e, ERR_INTERNAL, "cannot compare the ranks: out of memory");
    return NULL;
}

void ranks_free(struct ranks *r)
{
    if (!r)
        return;
    free(r->functions);
    free(r->nodes);
    free(r);
}

double rank_mean(const struct ranks *r, const struct rank_spread *s)
{
    return r->count ? (double)s->sum / r->count : 0;
}

double rank_imbalance(const struct ranks *r, const struct rank_spread *s)
{
    return s->sum ? (double)s->max / rank_mean(r, s) - 1 : 0;
}

static void write_row(FILE *out, const struct view *v, const struct ranks *r, uint32_t node,
                      const struct report_style *style)
{
    const struct view_node *n = &v->tree.nodes[node];
    const struct rank_spread *s = &r->nodes[node];
    const struct view_function *f = &v->functions[n->function];
    char number[TEXT_NUMBER_SIZE];
    fprintf(out, "%*s", NUMBER_COLUMNS, text_count(number, s->min));
    fprintf(out, "%*.1f", NUMBER_COLUMNS, rank_mean(r, s));
    fprintf(out, "%*s", NUMBER_COLUMNS, text_count(number, s->max));
    fprintf(out, "%*.1f%%%9u  ", NUMBER_COLUMNS - 1, 100 * rank_imbalance(r, s), s->slowest);
    uint32_t depth = n->depth ? n->depth - 1 : 0;
    fprintf(out, "%*s", (int)(depth < INDENT_MOST ? depth : INDENT_MOST), "");
    text_function(out, style, f->name, style->width ? 60 : 0);
    fputc('\n', out);
}

void report_imbalance(FILE *out, const struct view *v, const struct ranks *r,
                      const struct report_style *style)
{
    uint64_t min = (uint64_t)ceil((double)v->samples * style->min / 100);
    if (!r->count) {
        fputs("no process of this profile has a rank: it is not of a parallel program, or was "
              "recorded "
              "otherwise than by mpirun ... penumbra record\n",
              out);
        return;
    }
    fprintf(
        out,
        "samples of each of %u ranks: the least, the mean, the most; how much the slowest rank\n"
        "exceeds the mean\n",
        r->count);
    text_colour(out, style, TEXT_DIM);
    fprintf(out, "%*s%*s%*s%*s%9s  call path\n", NUMBER_COLUMNS, "min", NUMBER_COLUMNS, "mean",
            NUMBER_COLUMNS, "max", NUMBER_COLUMNS, "imbalance", "slowest");
    text_colour(out, style, TEXT_PLAIN);
    uint32_t node = v->tree.nodes[0].first_child;
    while (node != VIEW_NONE && node != 0) {
        const struct view_node *n = &v->tree.nodes[node];
        bool shown = n->total && n->total >= min && n->depth <= style->depth;
        if (shown)
            write_row(out, v, r, node, style);
        node = view_tree_next(&v->tree, node, !shown);
    }
}
