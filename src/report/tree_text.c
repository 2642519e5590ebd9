#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/calls.h"
#include "report/fold.h"
#include "report/simulated.h"
#include "report/text.h"

enum { COUNT_COLUMNS = 12 };

/* The printed part of a tree. An only child stands below its parent without a branch, so that long
 * chains do not run off to the right:
 *
 *     main
 *     parse
 *     ├─ lex
 *     │  read_token
 *     └─ reduce
 */
struct printer {
    FILE *out;
    const struct view *view;
    const struct view_tree *tree;
    const struct report_style *style;
    uint64_t min;
    char *rails; /* one character a level of branching: '|' goes on below, ' ' does not */
    size_t rail_count, rail_capacity;
    /* the tree is not the view's own, and was not expanded beyond the limit of depth */
    bool derived;
    bool cut;        /* by depth */
    bool folded;     /* a recursion was shown as one line */
};

static bool is_shown(const struct printer *p, uint32_t node)
{
    return p->tree->nodes[node].total >= p->min;
}

static void write_rails(const struct printer *p, bool branch, bool last)
{
    const char *bar = p->style->unicode ? "│  " : "|  ";
    const char *tee = p->style->unicode ? "├─ " : "|- ";
    const char *corner = p->style->unicode ? "└─ " : "`- ";
    if (!p->rail_count && !branch)
        return;
    text_colour(p->out, p->style, TEXT_DIM);
    for (size_t i = 0; i < p->rail_count; i++)
        fputs(p->rails[i] == '|' ? bar : "   ", p->out);
    if (branch)
        fputs(last ? corner : tee, p->out);
    text_colour(p->out, p->style, TEXT_PLAIN);
}

static void write_node(struct printer *p, uint32_t node, bool branch, bool last)
{
    const struct view_node *n = &p->tree->nodes[node];
    const struct view_function *f = &p->view->functions[n->function];
    char number[TEXT_NUMBER_SIZE];
    text_percent(p->out, p->view, p->style, n->total, p->view->samples);
    fputs("  ", p->out);
    text_percent(p->out, p->view, p->style, n->self, p->view->samples);
    if (view_is_refined(p->view))
        fprintf(p->out, "  %6.2f%%", text_share(n->total, p->view->samples_all));
    fprintf(p->out, "  %*s  ", COUNT_COLUMNS, text_count(number, n->total));
    if (!p->derived)
        text_heap(p->out, p->view, view_tree_weights(p->tree, node));
    write_rails(p, branch, last);
    size_t before = (size_t)text_percent_width(p->style) * 2 + COUNT_COLUMNS + 6
        + (view_is_refined(p->view) ? 9 : 0) + 3 * (p->rail_count + branch);
    size_t most = p->style->width ? 20 : 0;
    if (most && (size_t)p->style->width > before + 40)
        most = (size_t)p->style->width - before - 20;
    text_function(p->out, p->style, f->name, most);
    text_colour(p->out, p->style, TEXT_DIM);
    if (n->inlined)
        fputs(" (inlined)", p->out);
    if (n->levels > 1)
        fprintf(p->out, " (recursion, %s levels deep%s)", text_count(number, n->levels),
                p->derived && n->levels >= p->style->depth ? " or more" : "");
    p->folded |= n->levels > 1;
    calls_write(p->out, p->view, n);
    /* The image only where it changes. */
    uint32_t parent = n->parent == VIEW_NONE ? VIEW_NONE : p->tree->nodes[n->parent].function;
    if (f->image_name[0]
        && (parent == VIEW_NONE || p->view->functions[parent].image != f->image)) {
        fputs("  [", p->out);
        /* Names like "[vdso]" bring their own brackets. */
        bool bracketed = f->image_name[0] == '[';
        text_name(p->out, bracketed ? f->image_name + 1 : f->image_name, 0);
        fputs(bracketed ? "" : "]", p->out);
    }
    if (f->line) {
        fputs("  ", p->out);
        text_name(p->out, f->file, 0);
        fprintf(p->out, ":%u", f->line);
    }
    if (!p->derived)
        simulated_write_weights(p->out, p->view, view_tree_weights(p->tree, node));
    text_colour(p->out, p->style, TEXT_PLAIN);
    fputc('\n', p->out);
}

static bool rail_push(struct printer *p, char rail)
{
    if (p->rail_count == p->rail_capacity) {
        size_t capacity = p->rail_capacity ? p->rail_capacity * 2 : 64;
        char *rails = realloc(p->rails, capacity);
        if (!rails)
            return false;
        p->rails = rails;
        p->rail_capacity = capacity;
    }
    p->rails[p->rail_count++] = rail;
    return true;
}

/* Children are linked by descending total, so the shown ones come first. */
static uint32_t shown_children(const struct printer *p, uint32_t node)
{
    uint32_t child = p->tree->nodes[node].first_child;
    if (child == VIEW_NONE || !is_shown(p, child))
        return 0;
    uint32_t next = p->tree->nodes[child].next_sibling;
    return next != VIEW_NONE && is_shown(p, next) ? 2 : 1;
}

/* Whether the node's siblings are set off by branches. First-level nodes stand alone. */
static bool is_branch(const struct printer *p, uint32_t node)
{
    uint32_t parent = p->tree->nodes[node].parent;
    return parent != 0 && shown_children(p, parent) > 1;
}

static bool is_last(const struct printer *p, uint32_t node)
{
    uint32_t next = p->tree->nodes[node].next_sibling;
    return next == VIEW_NONE || !is_shown(p, next);
}

static void print_nodes(struct printer *p)
{
    uint32_t node = p->tree->nodes[0].first_child;
    if (node != VIEW_NONE && !is_shown(p, node))
        node = VIEW_NONE;
    while (node != VIEW_NONE) {
        const struct view_node *n = &p->tree->nodes[node];
        bool branch = is_branch(p, node), last = is_last(p, node);
        write_node(p, node, branch, last);
        if (shown_children(p, node) && n->depth < p->style->depth) {
            if (branch && !rail_push(p, last ? ' ' : '|'))
                return;
            node = n->first_child;
            continue;
        }
        p->cut |= shown_children(p, node) > 0 || (p->derived && n->depth == p->style->depth);
        while (node != 0 && is_last(p, node)) {
            node = p->tree->nodes[node].parent;
            if (node != 0 && is_branch(p, node))
                p->rail_count--;
        }
        node = node ? p->tree->nodes[node].next_sibling : VIEW_NONE;
    }
}

static void titles_write(FILE *out, const struct view *v, const struct report_style *style,
                         bool heap, const char *title)
{
    int width = text_percent_width(style);
    text_colour(out, style, TEXT_DIM);
    fprintf(out, "%*s  %*s", width, "total", width, "self");
    if (view_is_refined(v))
        fprintf(out, "  %7s", "of all");
    fprintf(out, "  %*s  ", COUNT_COLUMNS, text_unit(v));
    if (heap)
        text_heap(out, v, NULL);
    fputs(title, out);
    text_colour(out, style, TEXT_PLAIN);
    fputc('\n', out);
}

bool report_tree(FILE *out, const struct view *v, const struct view_tree *t, const char *title,
                 const struct report_style *style, struct err *e)
{
    struct printer p = {.out = out, .view = v, .tree = t, .style = style, .derived = t != &v->tree};
    struct view_tree folded = { 0 };
    if (!style->no_fold && !fold_tree(v, t, &folded, e))
        return false;
    if (!style->no_fold)
        p.tree = &folded;
    p.min = (uint64_t)ceil((double)v->samples * style->min / 100);
    p.min = p.min ? p.min : 1;
    titles_write(out, v, style, !p.derived, title);
    print_nodes(&p);
    if (t->nodes[0].first_child == VIEW_NONE)
        fprintf(out, "no %s\n", text_unit(v));
    if (style->min > 0)
        fprintf(out, "branches below %.4g%% are not shown (--min)\n", style->min);
    if (p.cut)
        fprintf(out, "levels below %u are not shown (--depth)\n", style->depth);
    if (p.folded)
        fputs("recursion is shown once (--no-fold shows each level)\n", out);
    free(p.rails);
    view_tree_fini(&folded);
    return true;
}
