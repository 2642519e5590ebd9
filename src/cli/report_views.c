#include "cli/report_views.h"

#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "report/calls.h"
#include "report/counted.h"
#include "report/expand.h"
#include "report/loads.h"
#include "report/ranks.h"
#include "report/table/view.h"
#include "report/timeline.h"
#include "report/values.h"

enum { MORE_SIZE = 512 };

struct job {
    FILE *out;
    const struct view *v;
    const struct report_arguments *a;
    const struct report_style *style;
    unsigned table; /* enum tool_table; of a tool's view */
};

struct view_row {
    bool (*show)(const struct job *j, struct err *e);
    /* False, and why: this profile cannot have it. NULL: every profile has. */
    bool (*needs)(const struct job *j, struct err *e);
    bool threads; /* it tells threads apart */
};

/* ---- functions that are named ---- */

static bool fail_unknown_function(const struct view *v, const char *pattern, struct err *e)
{
    struct suggest s = {0};
    for (uint32_t i = 0; i < v->function_count; i++)
        if (v->functions[i].total)
            suggest_offer(&s, pattern, v->functions[i].name);
    if (s.best)
        return err_set(e, ERR_USAGE,
                       "no function in this profile is named or matches \"%s\";"
                       " did you mean \"%s\"?",
                       pattern, s.best);
    return err_set(e, ERR_USAGE,
                   "no function in this profile is named or matches \"%s\";"
                   " --flat --min 0 --limit 0 lists them all",
                   pattern);
}

/* Before anything is written. */
static bool check_function(const struct view *v, const char *pattern, struct err *e)
{
    if (!pattern)
        return true;
    uint32_t count;
    bool *chosen = view_match(v, pattern, &count, e);
    bool enough = chosen;
    free(chosen);
    return enough && (count || fail_unknown_function(v, pattern, e));
}

/* ---- needs ---- */

static bool has_ranks(const struct profile *p)
{
    for (uint32_t i = 0; i < p->process_count; i++)
        if (p->processes[i].rank)
            return true;
    return false;
}

static bool needs_table(const struct job *j, struct err *e)
{
    const struct tool_about *tool = table_keeper(j->table);
    const char *what = tool->name;
    if (tool->carriers == 1u << CARRIER_COMPILED && !table_of(j->v, j->table))
        return err_set(e, ERR_USAGE,
                       "this profile has no %s; penumbra cc compiles that into a program, and "
                       "record --carrier compiled observes it",
                       what);
    return table_of(j->v, j->table) ||
           err_set(
               e, ERR_USAGE,
               "this profile has no %s; record --exact --tool %s, or --carrier burst --tool %s, "
               "observes them",
               what, what, what);
}

static bool needs_timeline(const struct job *j, struct err *e)
{
    return timeline_check(j->v, &j->a->view, e);
}

static bool needs_calls(const struct job *j, struct err *e)
{
    return calls_known(j->v) ||
           err_set(e, ERR_USAGE,
                   "no calls were counted in this profile: none of those that samples met has "
                   "returned, "
                   "or they cannot be counted there (the notes of --verbose, docs/trampoline.md); "
                   "record --exact --tool calls counts all");
}

static bool needs_semi_invariant(const struct job *j, struct err *e)
{
    return observed_values(j->v->profile) ||
           err_set(e, ERR_USAGE, "this profile has no values; record some with --tool values");
}

static bool needs_imbalance(const struct job *j, struct err *e)
{
    return has_ranks(j->v->profile) || err_set(e, ERR_USAGE,
                                               "no process of this profile has a rank: it is not "
                                               "of a parallel program, or was recorded "
                                               "otherwise than by mpirun ... penumbra record");
}

static bool needs_phases(const struct job *j, struct err *e)
{
    return j->v->profile->phase_count ||
           err_set(e, ERR_USAGE,
                   "the program named no phases (penumbra_phase_begin, penumbra/penumbra.h)");
}

static bool needs_callers(const struct job *j, struct err *e)
{
    return check_function(j->v, j->a->callers, e);
}

static bool needs_callees(const struct job *j, struct err *e)
{
    return check_function(j->v, j->a->callees, e);
}

/* ---- views ---- */

static struct expand_limits limits_make(const struct view *v, const struct report_style *style)
{
    double min = (double)v->samples * style->min / 100;
    return (struct expand_limits){.min = min > 1 ? (uint64_t)min : 1, .depth = style->depth};
}

static bool show_around(const struct job *j, const char *pattern, bool callers, struct err *e)
{
    const struct view *v = j->v;
    uint32_t count;
    bool *chosen = view_match(v, pattern, &count, e);
    if (!chosen)
        return false;
    struct view_tree tree;
    bool ok =
        (callers ? expand_callers : expand_callees)(v, chosen, limits_make(v, j->style), &tree, e);
    free(chosen);
    if (!ok)
        return false;
    ok = report_tree(j->out, v, &tree,
                     callers ? "function, and below it its callers"
                             : "function, and below it what it called",
                     j->style, e);
    view_tree_fini(&tree);
    return ok;
}

static bool show_callers(const struct job *j, struct err *e)
{
    return show_around(j, j->a->callers, true, e);
}

static bool show_callees(const struct job *j, struct err *e)
{
    return show_around(j, j->a->callees, false, e);
}

static bool show_bottom_up(const struct job *j, struct err *e)
{
    struct view_tree tree;
    if (!expand_bottom_up(j->v, limits_make(j->v, j->style), &tree, e))
        return false;
    bool ok = report_tree(j->out, j->v, &tree, "function, and below it its callers", j->style, e);
    view_tree_fini(&tree);
    return ok;
}

static bool show_flat(const struct job *j, struct err *e)
{
    return report_flat(j->out, j->v, j->style, e);
}

static bool show_tree(const struct job *j, struct err *e)
{
    return report_tree(j->out, j->v, &j->v->tree, "call path", j->style, e);
}

static bool show_calls(const struct job *j, struct err *e)
{
    return report_calls(j->out, j->v, j->style, e);
}

static bool show_images(const struct job *j, struct err *e)
{
    return report_images(j->out, j->v, j->style, e);
}

static bool show_timeline(const struct job *j, struct err *e)
{
    return report_timeline(j->out, j->v, j->style, e);
}

static bool show_threads(const struct job *j, struct err *e)
{
    (void)e;
    report_threads(j->out, j->v, j->style);
    return true;
}

static bool show_processes(const struct job *j, struct err *e)
{
    (void)e;
    report_processes(j->out, j->v, j->style);
    return true;
}

static bool show_phases(const struct job *j, struct err *e)
{
    (void)e;
    report_phases(j->out, j->v, j->style);
    return true;
}

static bool show_imbalance(const struct job *j, struct err *e)
{
    struct ranks *ranks = ranks_compute(j->v, &j->a->view, e);
    if (ranks)
        report_imbalance(j->out, j->v, ranks, j->style);
    ranks_free(ranks);
    return ranks != NULL;
}

/* Single instructions have small shares. */
#define SEMI_LEAST 0.05

static bool show_semi_invariant(const struct job *j, struct err *e)
{
    struct report_style semi = *j->style;
    semi.min = j->a->min < 0 ? SEMI_LEAST : j->a->min;
    struct value_reader *r = value_reader_new(j->v, &j->a->symbols);
    bool ok =
        r ? report_semi_invariant(j->out, r, &semi, e) : err_set(e, ERR_INTERNAL, "out of memory");
    value_reader_free(r);
    return ok;
}

static bool show_table(const struct job *j, struct err *e)
{
    return table_views[j->table]->text(j->out, j->v, table_of(j->v, j->table), j->style, e);
}

/* ---- the rows ---- */

#define OF_TOOL(id, name, ...)                                                                     \
    [REPORT_VIEW_TABLE + TABLE_##id] = {.show = show_table, .needs = needs_table},
static const struct view_row rows[REPORT_VIEW_COUNT] = {
    [REPORT_VIEW_flat] = {.show = show_flat},
    [REPORT_VIEW_tree] = {.show = show_tree},
    [REPORT_VIEW_bottom_up] = {.show = show_bottom_up},
    [REPORT_VIEW_calls] = {.show = show_calls, .needs = needs_calls},
    [REPORT_VIEW_threads] = {.show = show_threads, .threads = true},
    [REPORT_VIEW_processes] = {.show = show_processes, .threads = true},
    [REPORT_VIEW_images] = {.show = show_images},
    [REPORT_VIEW_imbalance] = {.show = show_imbalance, .needs = needs_imbalance, .threads = true},
    [REPORT_VIEW_semi_invariant] = {.show = show_semi_invariant, .needs = needs_semi_invariant},
    [REPORT_VIEW_phases] = {.show = show_phases, .needs = needs_phases, .threads = true},
    [REPORT_VIEW_timeline] = {.show = show_timeline, .needs = needs_timeline, .threads = true},
    [REPORT_VIEW_callers] = {.show = show_callers, .needs = needs_callers},
    [REPORT_VIEW_callees] = {.show = show_callees, .needs = needs_callees},
    TOOLS_TABLE(OF_TOOL) TOOLS_COMPILED(OF_TOOL) TOOLS_MODEL(OF_TOOL)};

#define TABLE_PLACE(id, name, ...) REPORT_VIEW_TABLE + TABLE_##id,
#define ONE_MORE(id, name, ...) +1
/* In which they are shown, several or all: from the whole to its parts. */
static const unsigned char order[] = {
    REPORT_VIEW_processes, REPORT_VIEW_threads, REPORT_VIEW_phases, REPORT_VIEW_timeline,
    REPORT_VIEW_images, REPORT_VIEW_flat, REPORT_VIEW_calls,
    TOOLS_TABLE(TABLE_PLACE) TOOLS_COMPILED(TABLE_PLACE) TOOLS_MODEL(TABLE_PLACE)
    REPORT_VIEW_imbalance, REPORT_VIEW_semi_invariant, REPORT_VIEW_tree, REPORT_VIEW_bottom_up,
    REPORT_VIEW_callers, REPORT_VIEW_callees};
enum { PLACES = sizeof order };
_Static_assert(PLACES == REPORT_VIEW_TABLE TOOLS_TABLE(ONE_MORE) TOOLS_COMPILED(ONE_MORE)
                   TOOLS_MODEL(ONE_MORE),
               "each view has its place");

/* ---- the whole ---- */

/* Of what is asked for: bit n is view n. */
static uint32_t chosen_views(const struct report_arguments *a)
{
    return a->show | (a->callers ? report_view_bit(REPORT_VIEW_callers) : 0) |
           (a->callees ? report_view_bit(REPORT_VIEW_callees) : 0);
}

bool report_views_chosen(const struct report_arguments *a)
{
    return chosen_views(a) != 0;
}

bool report_views_tell_threads_apart(const struct report_arguments *a)
{
    for (unsigned i = 0; i < REPORT_VIEW_COUNT; i++)
        if (chosen_views(a) & report_view_bit(i) && rows[i].threads)
            return true;
    return false;
}

bool report_views_check(const struct view *v, const struct report_arguments *a, struct err *e)
{
    uint32_t chosen = chosen_views(a);
    for (unsigned i = 0; i < REPORT_VIEW_COUNT; i++) {
        struct job j = {.v = v, .a = a, .table = i - REPORT_VIEW_TABLE};
        if (chosen & report_view_bit(i) && rows[i].needs && !rows[i].needs(&j, e))
            return false;
    }
    return true;
}

/* What is shown of a profile if nothing is asked for. */
static uint32_t default_views(const struct view *v)
{
    bool flat = view_is_attributed(v) || !observed_code(v->profile);
    uint32_t show = flat ? report_view_bit(REPORT_VIEW_flat) : 0;
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        if (table_views[i] && table_of(v, i))
            show |= report_view_bit(REPORT_VIEW_TABLE + i);
    const struct profile_values *values = observed_values(v->profile);
    if (values && !flat && value_places_were_asked_for(values))
        show |= report_view_bit(REPORT_VIEW_semi_invariant);
    return show;
}

static bool show_views(struct job *j, uint32_t views, struct err *e)
{
    bool ok = true;
    for (unsigned i = 0; ok && i < PLACES; i++)
        if (views & report_view_bit(order[i])) {
            fputc('\n', j->out);
            j->table = order[i] - REPORT_VIEW_TABLE;
            ok = rows[order[i]].show(j, e);
        }
    return ok;
}

/* The views that this profile has, and the recordings that would say what it lacks. */
static void print_more(FILE *out, const struct view *v)
{
    const struct profile *p = v->profile;
    const struct profile_counts *c = observed_code(p);
    bool contexts = !v->of_blocks && v->samples;
    fprintf(out, "\nMore: %s%s%s%s%s%s%s--by-image, --lines, --html FILE, --verbose\n",
            observed_values(p)    ? "--semi-invariant, annotate, "
            : c && c->block_count ? "annotate, "
                                  : "",
            contexts ? "--tree, --bottom-up, --callers FUNC, " : "",
            calls_known(v) ? "--calls, " : "", p->thread_count > 1 ? "--by-thread, " : "",
            p->process_count > 1 ? "--by-process, " : "", p->phase_count ? "--by-phase, " : "",
            has_ranks(p) ? "--imbalance, " : "");
    char lacks[MORE_SIZE] = "";
    size_t used = 0;
    if (strcmp(p->metrics[0].trigger, "wall") != 0)
        used += (size_t)snprintf(lacks, sizeof lacks, "waiting (record -e wall), ");
    if (!observed_values(p))
        used +=
            (size_t)snprintf(lacks + used, sizeof lacks - used, "values (record --tool values), ");
    if (!view_is_of_calls(v))
        used += (size_t)snprintf(lacks + used, sizeof lacks - used,
                                 "every call (record --exact --tool calls), ");
    if (used > 2)
        fprintf(out, "What it lacks: %.*s\n", (int)used - 2, lacks);
}

/* What loads and counts tell stands around the functions. */
static bool show_default(struct job *j, struct err *e)
{
    const uint32_t views = default_views(j->v), flat = views & report_view_bit(REPORT_VIEW_flat);
    bool ok = !loads_were_asked_for(j->v) || loads_tables(j->out, j->v, j->style, e);
    ok = ok && show_views(j, flat, e);
    if (ok && observed_code(j->v->profile))
        ok = counted_tables(j->out, j->v, j->style, e);
    ok = ok && show_views(j, views & ~flat, e);
    if (ok)
        print_more(j->out, j->v);
    return ok;
}

bool report_views_show(FILE *out, const struct view *v, const struct report_arguments *a,
                       const struct report_style *style, struct err *e)
{
    struct job j = {.out = out, .v = v, .a = a, .style = style};
    return report_views_chosen(a) ? show_views(&j, chosen_views(a), e) : show_default(&j, e);
}
