#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "cli/report_annotated.h"
#include "cli/report_views.h"
#include "cli/style.h"
#include "cli/time_range.h"
#include "collector/open_profile.h"
#include "profile/file.h"
#include "profile/phases.h"
#include "profile/simulate.h"
#include "report/compare_phases.h"
#include "report/dump.h"
#include "report/from_edges.h"
#include "report/html.h"
#include "report/ranks.h"
#include "report/table/view.h"
#include "report/values.h"

enum { TREE_DEPTH = 128, HTML_BLOCKS = 200, HTML_ROWS = 200, FLAT_LIMIT = 50 };

#define TABLE_BIT(id, name, ...) | UINT32_C(1) << (REPORT_VIEW_TABLE + TABLE_##id)
static const uint32_t table_views_bits = 0 TOOLS_TABLE(TABLE_BIT)
    TOOLS_COMPILED(TABLE_BIT) TOOLS_MODEL(TABLE_BIT);

static const char *json_word(unsigned index)
{
    return index ? NULL : "flat";
}

static bool take_json(void *arguments, const char *value, struct err *e)
{
    struct report_arguments *a = arguments;
    a->json = true;
    a->json_flat = value && !strcmp(value, "flat");
    return !value || a->json_flat ||
           err_set(e, ERR_USAGE, "--json=%s: it is --json, or --json=flat", value);
}

static bool take_through(void *arguments, const char *value, struct err *e)
{
    struct report_arguments *a = arguments;
    if (a->view.through_count == REPORT_THROUGH_MAX)
        return err_set(e, ERR_USAGE, "more than %d --through", REPORT_THROUGH_MAX);
    a->through[a->view.through_count++] = value;
    return true;
}

#define VIEW_ROW(id, option, text)                                                                 \
    {0, option, .help = text, .bits = UINT32_C(1) << REPORT_VIEW_##id,                             \
     FIELD(struct report_arguments, show)},
#define AROUND_ROW(id, option, text)                                                               \
    {0, option, "FUNC", .help = text, FIELD(struct report_arguments, id)},
#define TABLE_ROW(id, tool, sentence, ...)                                                         \
    {0, #tool, .help = sentence " (record --tool " #tool ")",                                      \
     .bits = UINT32_C(1) << (REPORT_VIEW_TABLE + TABLE_##id),                                      \
     FIELD(struct report_arguments, show)},
static const struct option_row rows[] = {
    {.help = "Views (default: --flat; several may be given)"},
    REPORT_VIEWS(VIEW_ROW)
    REPORT_VIEWS_AROUND(AROUND_ROW)
    TOOLS_TABLE(TABLE_ROW)
    TOOLS_COMPILED(TABLE_ROW)
    TOOLS_MODEL(TABLE_ROW)
    {0, "lines", NULL, .help = "source lines instead of functions",
     FIELD(struct report_arguments, view.lines)},
    {.help = "What is shown"},
    {0, "thread", "NAME|TID", .help = "only these threads' samples",
     FIELD(struct report_arguments, view.thread)},
    {0, "process", "NAME|PID", .help = "only these processes' samples",
     FIELD(struct report_arguments, view.process)},
    {0, "phase", "NAME", .help = "only samples in this phase, and in phases nested in it",
     FIELD(struct report_arguments, phase)},
    {0, "time", "FROM..TO",
     .help = "only this part of the time, in seconds since the start (2.5..4) or in percent "
             "(50%..100%), as exactly as docs/timeline.md says",
     FIELD(struct report_arguments, time)},
    {0, "from", "TIME", .help = "only what is later: 2.5, 2.5s or 50%",
     FIELD(struct report_arguments, from)},
    {0, "to", "TIME", .help = "only what is earlier", FIELD(struct report_arguments, to)},
    {0, "versus", "NAME", .help = "compare with --phase: what this phase has more of, or less",
     FIELD(struct report_arguments, versus)},
    {0, "metric", "NAME",
     .help = "weights by another metric than the first: of several events one of them; with -e "
             "malloc: allocated, live (at the end: leaks), peak (live when the program had most)",
     FIELD(struct report_arguments, view.metric), .word = metric_word},
    {0, "observation", "NAME",
     .help = "of a merged profile that keeps several apart: this one instead of the first (exact, "
             "sampled, a carrier, a tool, or CARRIER:TOOL)",
     FIELD(struct report_arguments, observation), .word = observation_word},
    {0, "image", "NAME", .help = "only samples whose innermost frame is in this program or library",
     FIELD(struct report_arguments, view.image)},
    {0, "through", "'RE,RE'",
     .help = "only call paths through frames that match these regular expressions in this order; "
             "given again, it refines the rest",
     .take = take_through},
    {0, "no-inline", NULL, .help = "count inlined functions for the function that they are part of",
     FIELD(struct report_arguments, view.no_inline)},
    {0, "min", "PERCENT", .fallback = "0.5; --semi-invariant 0.05; --json 0",
     .help = "leave out rows with less", FIELD(struct report_arguments, min),
     NUMBER(number_percent, 0, 100)},
    {0, "limit", "N", .fallback = "50; 0 is no limit; --json no limit", .help = "rows of a table",
     FIELD(struct report_arguments, limit), NUMBER(number_counts, 0, 4e9)},
    {0, "depth", "N", .fallback = "128; --json no limit", .help = "levels of a tree",
     FIELD(struct report_arguments, depth), NUMBER(number_counts, 0, 4e9)},
    {0, "no-fold", NULL, .help = "show every level of a recursion in trees, not one line",
     FIELD(struct report_arguments, no_fold)},
    {0, "full-names", NULL, .help = "long C++ names with all template arguments and parameters",
     FIELD(struct report_arguments, full_names)},
    {0, "ci", NULL, .help = "95% confidence intervals beside the percentages",
     FIELD(struct report_arguments, ci)},
    {'v', "verbose", NULL, .help = "how it was recorded, what was lost and what it cost, in full",
     FIELD(struct report_arguments, verbose)},
    {.help = "Output"},
    {0, "json", "[flat]",
     .help = "as JSON (docs/json.md); --json=flat: the tree as an array of nodes",
     .word = json_word, .take = take_json},
    {0, "dump", NULL, .help = "every field of the file as it is stored (docs/format.md)",
     FIELD(struct report_arguments, dump)},
    {0, "html", "FILE", .help = "one self-contained page with an interactive flame graph",
     FIELD(struct report_arguments, html)},
    {'o', "output", "FILE", .help = "write to FILE instead of standard output",
     FIELD(struct report_arguments, output)},
    {0, "quick", NULL, .help = "names from symbol tables only: no lines, no inlined functions",
     FIELD(struct report_arguments, quick)},
    {0, "debug-dir", "DIR", .help = "look for separate debug files here too",
     FIELD(struct report_arguments, symbols.debug_path)},
    {0, "ascii", NULL, .help = "no box-drawing characters", FIELD(struct report_arguments, ascii)},
};

static const struct options options = {
    .command = "report",
    .usage = "Usage: penumbra report [options] [FILE]\n"
             "Prints a recorded profile (penumbra.pnb by default): how it was recorded, what was "
             "lost, and\n"
             "the functions by the time that they used.\n"
             "\n",
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
};

static bool check_together(const struct report_arguments *a, struct err *e)
{
    bool views = report_views_chosen(a);
    if (a->versus && !a->phase)
        return err_set(e, ERR_USAGE, "--versus compares with the phase that --phase names");
    if (a->versus && (a->html || views))
        return err_set(e, ERR_USAGE,
                       "--versus is a view of its own; give other views in another "
                       "command");
    if (a->html && (a->json || views))
        return err_set(e, ERR_USAGE,
                       "--html writes a page of its own; give other views in"
                       " another command");
    if (a->dump && (a->html || a->json || a->versus || a->phase || views))
        return err_set(e, ERR_USAGE,
                       "--dump shows the file as it is; give views of the profile in "
                       "another command");
    return !a->quick || !a->view.lines ||
           err_set(e, ERR_USAGE, "--quick reads no source lines, so --lines cannot show any");
}

static bool take_range(struct report_arguments *a, struct err *e)
{
    if (!a->from && !a->to)
        return true;
    if (a->time)
        return err_set(e, ERR_USAGE, "--time says both ends; give it without --from and --to");
    a->time = a->range;
    return time_range_join(a->range, a->from, a->to, e);
}

static bool take_arguments(struct report_arguments *a, int count, char **words, struct err *e)
{
    if (count > 1)
        return err_set(e, ERR_USAGE, "one file at a time: \"%s\" is one too many", words[1]);
    if (count)
        a->input = words[0];
    bool lines = a->view.lines || a->show & table_views_bits;
    a->symbols.detail = a->quick ? SYMBOLS_QUICK : lines ? SYMBOLS_LINES : SYMBOLS_FUNCTIONS;
    a->view.through = a->through;
    return take_range(a, e) && check_together(a, e);
}

/* The profile, or one phase of it, with what is made of it. */
struct side {
    struct profile *profile;
    struct symbols *symbols;
    struct view *view;
};

static bool has_table(const struct profile *p)
{
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        if (observed_table(p, i) && table_views[i])
            return true;
    return false;
}

/* A page says which threads' samples a node has, and when. */
static enum profile_summing summing_for(const struct report_arguments *a)
{
    if (a->phase || a->time || a->view.thread || a->view.process || a->view.rank ||
        report_views_tell_threads_apart(a))
        return PROFILE_APART;
    return a->html ? PROFILE_SHARED : PROFILE_SUMMED_BY_NAME;
}

/* By the first metric (NULL), or another one of its trigger. */
static struct view *view_by(const struct side *s, const struct report_arguments *a,
                            const char *metric, struct err *e)
{
    struct view_options chosen = a->view;
    chosen.metric = metric;
    chosen.by_thread = a->html;
    return view_build(s->profile, s->symbols, &chosen, e);
}

static bool side_open(struct side *s, const struct report_arguments *a, const char *phase,
                      struct err *e)
{
    const char *metric = a->view.metric;
    *s = (struct side){0};
    s->profile = open_profile_by(a->input, a->observation, &metric, summing_for(a),
                                 command_progress(), e);
    struct symbols_options names = a->symbols;
    /* Tables say where things are by the line. */
    if (s->profile && a->html && has_table(s->profile) && names.detail == SYMBOLS_FUNCTIONS)
        names.detail = SYMBOLS_LINES;
    if (s->profile && (!phase || profile_keep_phase(s->profile, phase, e)) &&
        time_range_keep(s->profile, a->time, metric, e) &&
        blocks_from_edges(s->profile, &names, e))
        s->symbols = symbols_load_with(s->profile, &names, e);
    if (s->symbols)
        s->view = view_by(s, a, metric, e);
    return s->view != NULL;
}

static void side_close(struct side *s)
{
    view_free(s->view);
    symbols_free(s->symbols);
    profile_free(s->profile);
}

static struct report_style style_make(const struct report_arguments *a, FILE *out)
{
    struct report_style style = style_of_stream(out, a->ascii);
    style.ci = a->ci;
    style.lines = a->view.lines;
    style.verbose = a->verbose;
    style.chosen = report_views_chosen(a);
    style.no_fold = a->no_fold;
    style.full_names = a->full_names;
    style.min = a->min < 0 ? 0.5 : a->min;
    style.limit = a->limit < 0 ? FLAT_LIMIT : (uint32_t)a->limit;
    style.depth = a->depth < 0 ? TREE_DEPTH : (uint32_t)a->depth;
    return style;
}

static bool print_text(FILE *out, const struct view *v, const struct report_arguments *a,
                       struct err *e)
{
    struct report_style style = style_make(a, out);
    report_header(out, v, &style);
    return report_views_show(out, v, a, &style, e);
}

static bool make_json(struct buf *json, const struct view *v, const struct report_arguments *a,
                      struct err *e)
{
    struct report_json_options json_options = {
        .ci = a->ci,
        .tree = a->html ? JSON_TREE_OF_PAGE : a->json_flat ? JSON_TREE_FLAT : JSON_TREE_NESTED,
        .min = a->min < 0 ? (a->html ? 0.01 : 0) : a->min,
        .limit = a->limit < 0 ? 0 : (uint32_t)a->limit,
        .depth = a->depth < 0 ? UINT32_MAX : (uint32_t)a->depth,
        .blocks = a->html ? HTML_BLOCKS : 0,
        .timeline = a->show & report_view_bit(REPORT_VIEW_timeline),
        .tables = a->limit >= 0 ? (uint32_t)a->limit
                  : a->html     ? HTML_ROWS
                                : 0,
    };
    struct ranks *ranks = NULL;
    if (a->show & report_view_bit(REPORT_VIEW_imbalance) &&
        !(ranks = ranks_compute(v, &a->view, e)))
        return false;
    struct annotated annotated = {.count = 0};
    if (a->html && a->symbols.detail != SYMBOLS_QUICK)
        annotated_make(&annotated, v->profile, v->symbols, &a->symbols, a->view.metric);
    struct value_reader *values = value_reader_new(v, &a->symbols);
    json_options.values = values;
    json_options.places_only = a->html;
    json_options.ranks = ranks;
    json_options.annotated = annotated.list;
    json_options.annotated_count = annotated.count;
    bool ok = report_json(json, v, &json_options, e);
    value_reader_free(values);
    annotated_free(&annotated);
    ranks_free(ranks);
    return ok;
}

static bool print_json(FILE *out, const struct view *v, const struct report_arguments *a,
                       struct err *e)
{
    struct buf json = {0};
    bool ok = make_json(&json, v, a, e);
    if (ok)
        fwrite(json.data, 1, json.size, out);
    buf_free(&json);
    return ok;
}

/* The names of the profile's metrics, that which is shown first. */
static void metric_names(const struct view *v, const char *names[METRICS_MAX])
{
    const struct profile *p = v->profile;
    uint32_t count = 0;
    names[count++] = p->metrics[v->metric].name;
    for (uint32_t m = 0; m < p->metric_count; m++)
        if (m != v->metric)
            names[count++] = p->metrics[m].name;
}

static bool make_json_by(struct buf *json, const struct side *s, const struct report_arguments *a,
                         const char *name, struct err *e)
{
    struct report_arguments by = *a;
    const char *metric = by.view.metric = name;
    if (!profile_lead_by(s->profile, &metric, e))
        return false;
    struct view *v = view_by(s, &by, metric, e);
    bool ok = v && make_json(json, v, &by, e);
    view_free(v);
    return ok;
}

/* One report, or where there are several metrics an array of them: the profile is led by each in
 * turn. Those of a simulation are parts of the first, in its tree. */
static bool make_page(struct buf *json, const struct side *s, const struct report_arguments *a,
                      struct err *e)
{
    const char *names[METRICS_MAX] = {NULL};
    uint32_t count = profile_is_simulated(s->profile) ? 1 : s->profile->metric_count;
    metric_names(s->view, names);
    buf_printf(json, "%s", count > 1 ? "[" : "");
    bool ok = make_json(json, s->view, a, e);
    for (uint32_t m = 1; ok && m < count; m++) {
        buf_printf(json, ",");
        ok = make_json_by(json, s, a, names[m], e);
    }
    buf_printf(json, "%s", count > 1 ? "]" : "");
    return ok && (buf_ok(json) || err_set(e, ERR_INTERNAL, "cannot write the page: out of memory"));
}

static bool print_page(FILE *out, const struct side *s, const struct report_arguments *a,
                       struct err *e)
{
    struct buf json = {0};
    bool ok = make_page(&json, s, a, e) &&
              report_html((const char *)json.data, json.size, s->profile->command, out, e);
    buf_free(&json);
    return ok;
}

/* Writes to the chosen file and checks that all of it arrived. */
static bool print_versus(FILE *out, const struct view *v, const struct view *versus,
                         const struct report_arguments *a, struct err *e)
{
    struct compare_side sides[2] = {{a->phase, v}, {a->versus, versus}};
    struct report_style style = style_make(a, out);
    struct buf json = {0};
    if (!a->json)
        return report_compare_phases(out, sides, &style, e);
    bool ok = report_compare_phases_json(&json, sides, e);
    if (ok)
        fwrite(json.data, 1, json.size, out);
    buf_free(&json);
    return ok;
}

/* Where to write; NULL: standard output. */
static const char *output_path(const struct report_arguments *a)
{
    const char *path = a->html ? a->html : a->output;
    return path && strcmp(path, "-") != 0 ? path : NULL;
}

static FILE *output_open(const char *path, struct err *e)
{
    FILE *out = path ? fopen(path, "we") : stdout;
    if (!out)
        err_set_errno(e, ERR_OUTPUT, errno, "cannot create %s", path);
    return out;
}

static bool output_close(FILE *out, const char *path, struct err *e)
{
    bool written = !ferror(out);
    written = (path ? fclose(out) : fflush(out)) == 0 && written;
    return written ||
           err_set_errno(e, ERR_OUTPUT, errno, "cannot write %s", path ? path : "standard output");
}

static bool print(const struct side *s, const struct view *versus,
                  const struct report_arguments *a, struct err *e)
{
    const struct view *v = s->view;
    if (!report_views_check(v, a, e))
        return false;
    const char *path = output_path(a);
    FILE *out = output_open(path, e);
    if (!out)
        return false;
    struct err ignored = {0};
    bool ok = versus    ? print_versus(out, v, versus, a, e)
              : a->html ? print_page(out, s, a, e)
              : a->json ? print_json(out, v, a, e)
                        : print_text(out, v, a, e);
    return output_close(out, path, ok ? e : &ignored) && ok;
}

static bool dump(const struct report_arguments *a, struct err *e)
{
    size_t size;
    const char *path = output_path(a);
    uint8_t *data = file_read(a->input, &size, e);
    FILE *out = data ? output_open(path, e) : NULL;
    struct err ignored = {0};
    bool ok = out && report_dump(out, data, size, a->input, e);
    if (out)
        ok = output_close(out, path, ok ? e : &ignored) && ok;
    free(data);
    return ok;
}

int command_report(int argc, char **argv)
{
    struct report_arguments a = {.input = PROFILE_DEFAULT, .min = -1, .limit = -1, .depth = -1};
    struct err e = {0};
    int first_word, status;
    if (!options_take(&options, argc, argv, &a, &first_word, &status))
        return status;
    if (!take_arguments(&a, argc - first_word, argv + first_word, &e))
        return command_fail("report", &e);
    struct side first, second = {0};
    if (!output_is_apart(a.html ? a.html : a.output, a.input, &e))
        return command_fail("report", &e);
    if (a.dump)
        return dump(&a, &e) ? 0 : command_fail("report", &e);
    bool ok = side_open(&first, &a, a.phase, &e);
    if (ok && a.versus)
        ok = side_open(&second, &a, a.versus, &e);
    ok = ok && print(&first, second.view, &a, &e);
    side_close(&first);
    side_close(&second);
    return ok ? 0 : command_fail("report", &e);
}
