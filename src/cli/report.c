#include "cli/command.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/suggest.h"
#include "cli/open_profile.h"
#include "cli/report_annotated.h"
#include "cli/style.h"
#include "cli/time_range.h"
#include "profile/file.h"
#include "profile/phases.h"
#include "report/calls.h"
#include "report/compare_phases.h"
#include "report/counted.h"
#include "report/dump.h"
#include "report/expand.h"
#include "report/from_edges.h"
#include "report/html.h"
#include "report/loads.h"
#include "report/ranks.h"
#include "report/report.h"
#include "report/table/view.h"
#include "report/timeline.h"
#include "report/values.h"
#include "sigsafe/tools.h"

enum {
    THROUGH_MAX = 32, TREE_DEPTH = 128, HTML_DEPTH = 1000, HTML_BLOCKS = 200, HTML_ROWS = 200,
    FLAT_LIMIT = 50,
};

enum view_flag {
    SHOW_FLAT = 1,
    SHOW_TREE = 2,
    SHOW_BOTTOM_UP = 4,
    SHOW_THREADS = 8,
    SHOW_PROCESSES = 16,
    SHOW_IMAGES = 32,
    SHOW_PHASES = 64,
    SHOW_CALLS = 128,
    SHOW_IMBALANCE = 256,
    SHOW_SEMI_INVARIANT = 512,
    SHOW_TIMELINE = 1024,
    SHOW_TABLE = 2048, /* << enum tool_table: a tool's */
};
#define SHOW_TABLE_OF(id, name, ...) | SHOW_TABLE << TABLE_##id
enum { SHOW_TABLES = 0 TOOLS_TABLE(SHOW_TABLE_OF) };
_Static_assert(TABLE_COUNT < 20, "flags of views");
enum { MORE_SIZE = 512 };

struct arguments {
    const char *input;
    const char *output; /* NULL: standard output */
    const char *html;
    const char *callers, *callees;
    const char *through[THROUGH_MAX];
    const char *phase, *versus; /* NULL: not given */
    const char *time;
    struct view_options view;
    struct symbols_options symbols;
    unsigned show;
    double min; /* negative: not given */
    int64_t limit, depth; /* negative: not given */
    bool json, json_flat, dump, ci, ascii, help, verbose, no_fold, full_names;
};

static const char usage_begin[] =
    "Usage: penumbra report [options] [FILE]\n"
    "Prints a recorded profile (penumbra.pnb by default): how it was recorded, what was lost, and\n"
    "the functions by the time that they used.\n"
    "\n"
    "Views (default: --flat; several may be given)\n"
    "      --flat             functions by their own samples\n"
    "      --tree             calling contexts from the root down\n"
    "      --bottom-up        functions by their own samples, each with its callers\n"
    "      --calls            functions of few expensive calls, and of many cheap ones\n";
static const char usage_end[] =
    "      --callers FUNC     who called FUNC (a name, or a regular expression)\n"
    "      --callees FUNC     what FUNC called\n"
    "      --by-thread        one row a thread\n"
    "      --by-process       one row a process\n"
    "      --by-image         one row a program or library\n"
    "      --imbalance        how evenly the ranks of a parallel program share each calling context\n"
    "      --semi-invariant   with values: places worth specializing, by expected gain\n"
    "      --by-phase         one row a phase that the program named\n"
    "      --timeline         when threads were busy, and with what\n"
    "      --lines            source lines instead of functions\n"
    "What is shown\n"
    "      --thread NAME|TID  only these threads' samples; likewise --process NAME|PID\n"
    "      --phase NAME       only samples in this phase, and in phases nested in it\n"
    "      --time FROM..TO    only this part of the time, in seconds since the start (2.5..4) or in\n"
    "                         percent (50%..100%), as exactly as docs/timeline.md says\n"
    "      --versus NAME      compare with --phase: what this phase has more of, or less\n"
    "      --metric NAME      weights by another metric than the first: of several events one of\n"
    "                         them; with -e malloc: allocated, live (at the end: leaks), peak\n"
    "                         (live when the program had most)\n"
    "      --image NAME       only samples whose innermost frame is in this program or library\n"
    "      --through 'RE,RE'  only call paths through frames that match these regular expressions\n"
    "                         in this order; given again, it refines the rest\n"
    "      --no-inline        count inlined functions for the function that they are part of\n"
    "      --min PERCENT      leave out rows with less (default 0.5; --semi-invariant 0.05; --json 0)\n"
    "      --limit N          rows of a table (default 50; 0 is no limit; --json no limit)\n"
    "      --depth N          levels of a tree (default 128; --json no limit)\n"
    "      --no-fold          show every level of a recursion in trees, not one line\n"
    "      --full-names       long C++ names with all template arguments and parameters\n"
    "      --ci               95% confidence intervals beside the percentages\n"
    "  -v, --verbose          how it was recorded, what was lost and what it cost, in full\n"
    "Output\n"
    "      --json             as JSON (docs/json.md); --json=flat: the tree as an array of nodes\n"
    "      --dump             every field of the file as it is stored (docs/format.md)\n"
    "      --html FILE        one self-contained page with an interactive flame graph\n"
    "  -o, --output FILE      write to FILE instead of standard output\n"
    "      --quick            names from symbol tables only: no lines, no inlined functions\n"
    "      --debug-dir DIR    look for separate debug files here too\n"
    "      --ascii            no box-drawing characters\n"
    "  -h, --help             this text\n";

enum option_value {
    OPTION_TREE = 256, OPTION_FLAT, OPTION_BOTTOM_UP, OPTION_CALLERS, OPTION_CALLEES,
    OPTION_BY_THREAD, OPTION_BY_PROCESS, OPTION_BY_IMAGE, OPTION_LINES, OPTION_THREAD,
    OPTION_PROCESS, OPTION_IMAGE, OPTION_THROUGH, OPTION_NO_INLINE, OPTION_MIN, OPTION_LIMIT,
    OPTION_DEPTH, OPTION_CI, OPTION_JSON, OPTION_HTML, OPTION_QUICK, OPTION_DEBUG_DIR,
    OPTION_ASCII, OPTION_IMBALANCE, OPTION_PHASE, OPTION_VERSUS, OPTION_BY_PHASE, OPTION_METRIC,
    OPTION_CALLS, OPTION_SEMI_INVARIANT, OPTION_NO_FOLD,
    OPTION_FULL_NAMES, OPTION_DUMP, OPTION_TIMELINE, OPTION_TIME, OPTION_TABLE, /* + enum tool_table */
};

#define OPTION_OF_TABLE(id, name, ...) { #name, no_argument, NULL, (int)OPTION_TABLE + (int)TABLE_##id },
static const struct option options[] = {
    { "flat", no_argument, NULL, OPTION_FLAT },
    { "tree", no_argument, NULL, OPTION_TREE },
    { "bottom-up", no_argument, NULL, OPTION_BOTTOM_UP },
    { "calls", no_argument, NULL, OPTION_CALLS },
    TOOLS_TABLE(OPTION_OF_TABLE)
    { "semi-invariant", no_argument, NULL, OPTION_SEMI_INVARIANT },
    { "timeline", no_argument, NULL, OPTION_TIMELINE },
    { "time", required_argument, NULL, OPTION_TIME },
    { "callers", required_argument, NULL, OPTION_CALLERS },
    { "callees", required_argument, NULL, OPTION_CALLEES },
    { "by-thread", no_argument, NULL, OPTION_BY_THREAD },
    { "by-process", no_argument, NULL, OPTION_BY_PROCESS },
    { "by-image", no_argument, NULL, OPTION_BY_IMAGE },
    { "imbalance", no_argument, NULL, OPTION_IMBALANCE },
    { "lines", no_argument, NULL, OPTION_LINES },
    { "thread", required_argument, NULL, OPTION_THREAD },
    { "process", required_argument, NULL, OPTION_PROCESS },
    { "image", required_argument, NULL, OPTION_IMAGE },
    { "through", required_argument, NULL, OPTION_THROUGH },
    { "phase", required_argument, NULL, OPTION_PHASE },
    { "versus", required_argument, NULL, OPTION_VERSUS },
    { "by-phase", no_argument, NULL, OPTION_BY_PHASE },
    { "metric", required_argument, NULL, OPTION_METRIC },
    { "no-inline", no_argument, NULL, OPTION_NO_INLINE },
    { "min", required_argument, NULL, OPTION_MIN },
    { "limit", required_argument, NULL, OPTION_LIMIT },
    { "depth", required_argument, NULL, OPTION_DEPTH },
    { "ci", no_argument, NULL, OPTION_CI },
    { "no-fold", no_argument, NULL, OPTION_NO_FOLD },
    { "full-names", no_argument, NULL, OPTION_FULL_NAMES },
    { "verbose", no_argument, NULL, 'v' },
    { "json", optional_argument, NULL, OPTION_JSON },
    { "dump", no_argument, NULL, OPTION_DUMP },
    { "html", required_argument, NULL, OPTION_HTML },
    { "output", required_argument, NULL, 'o' },
    { "quick", no_argument, NULL, OPTION_QUICK },
    { "debug-dir", required_argument, NULL, OPTION_DEBUG_DIR },
    { "ascii", no_argument, NULL, OPTION_ASCII },
    { "help", no_argument, NULL, 'h' },
    { 0 },
};

static bool parse_count(const char *text, const char *what, int64_t *value, struct err *e)
{
    double number;
    if (!number_parse(text, number_counts, 0, 4e9, what, &number, e))
        return false;
    *value = (int64_t)number;
    return true;
}

/* The flag of a tool's table. */
static unsigned show_table(unsigned table)
{
    return (unsigned)SHOW_TABLE << table;
}

static bool set_view(struct arguments *a, int option)
{
    switch (option) {
    case OPTION_FLAT: a->show |= SHOW_FLAT; return true;
    case OPTION_TREE: a->show |= SHOW_TREE; return true;
    case OPTION_BOTTOM_UP: a->show |= SHOW_BOTTOM_UP; return true;
    case OPTION_CALLS: a->show |= SHOW_CALLS; return true;
    case OPTION_CALLERS: a->callers = optarg; return true;
    case OPTION_CALLEES: a->callees = optarg; return true;
    case OPTION_BY_THREAD: a->show |= SHOW_THREADS; return true;
    case OPTION_BY_PROCESS: a->show |= SHOW_PROCESSES; return true;
    case OPTION_BY_IMAGE: a->show |= SHOW_IMAGES; return true;
    case OPTION_IMBALANCE: a->show |= SHOW_IMBALANCE; return true;
    case OPTION_SEMI_INVARIANT: a->show |= SHOW_SEMI_INVARIANT; return true;
    case OPTION_BY_PHASE: a->show |= SHOW_PHASES; return true;
    case OPTION_TIMELINE: a->show |= SHOW_TIMELINE; return true;
    case OPTION_PHASE: a->phase = optarg; return true;
    case OPTION_TIME: a->time = optarg; return true;
    case OPTION_VERSUS: a->versus = optarg; return true;
    case OPTION_LINES: a->view.lines = true; return true;
    case OPTION_THREAD: a->view.thread = optarg; return true;
    case OPTION_PROCESS: a->view.process = optarg; return true;
    case OPTION_IMAGE: a->view.image = optarg; return true;
    case OPTION_NO_INLINE: a->view.no_inline = true; return true;
    case OPTION_CI: a->ci = true; return true;
    case OPTION_HTML: a->html = optarg; return true;
    case OPTION_DUMP: a->dump = true; return true;
    case 'o': a->output = optarg; return true;
    case OPTION_QUICK: a->symbols.detail = SYMBOLS_QUICK; return true;
    case OPTION_DEBUG_DIR: a->symbols.debug_path = optarg; return true;
    case OPTION_ASCII: a->ascii = true; return true;
    case OPTION_NO_FOLD: a->no_fold = true; return true;
    case OPTION_FULL_NAMES: a->full_names = true; return true;
    case 'v': a->verbose = true; return true;
    case 'h': a->help = true; return true;
    default: break;
    }
    if (option < OPTION_TABLE)
        return false;
    a->show |= show_table((unsigned)(option - OPTION_TABLE));
    return true;
}

static bool set_number(struct arguments *a, int option, struct err *e)
{
    switch (option) {
    case OPTION_THROUGH:
        if (a->view.through_count == THROUGH_MAX)
            return err_set(e, ERR_USAGE, "more than %d --through", THROUGH_MAX);
        a->through[a->view.through_count++] = optarg;
        return true;
    case OPTION_JSON:
        a->json = true;
        a->json_flat = optarg && !strcmp(optarg, "flat");
        return !optarg || a->json_flat ||
               err_set(e, ERR_USAGE, "--json=%s: it is --json, or --json=flat", optarg);
    case OPTION_METRIC: a->view.metric = optarg; return true;
    case OPTION_MIN: return number_parse(optarg, number_percent, 0, 100, "--min", &a->min, e);
    case OPTION_LIMIT: return parse_count(optarg, "--limit", &a->limit, e);
    case OPTION_DEPTH: return parse_count(optarg, "--depth", &a->depth, e);
    default: return false;
    }
}

static bool unknown_option(char **argv, struct err *e)
{
    const char *typed = argv[optind - 1];
    if (optopt && optopt < 256)
        return err_set(e, ERR_USAGE, "there is no option -%c; see penumbra report --help", optopt);
    if (optopt)
        return err_set(e, ERR_USAGE, "%s: %s; see penumbra report --help", typed,
                       strchr(typed, '=') ? "this option takes no value"
                                          : "this option needs a value");
    struct suggest s = { 0 };
    for (const struct option *o = options; o->name; o++)
        suggest_offer(&s, typed + strspn(typed, "-"), o->name);
    if (s.best)
        return err_set(e, ERR_USAGE, "there is no option %s; did you mean --%s?", typed, s.best);
    return err_set(e, ERR_USAGE, "there is no option %s; see penumbra report --help", typed);
}

static bool views_chosen(const struct arguments *a)
{
    return a->show || a->callers || a->callees;
}

static bool parse(int argc, char **argv, struct arguments *a, struct err *e)
{
    optind = 1;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":o:hv", options, NULL)) != -1;) {
        if (option == ':')
            return err_set(e, ERR_USAGE, "%s needs a value; see penumbra report --help",
                           argv[optind - 1]);
        if (option == '?')
            return unknown_option(argv, e);
        if (!set_view(a, option) && !set_number(a, option, e))
            return false;
    }
    if (argc - optind > 1)
        return err_set(e, ERR_USAGE, "one file at a time: \"%s\" is one too many",
                       argv[optind + 1]);
    if (optind < argc)
        a->input = argv[optind];
    if (a->versus && !a->phase)
        return err_set(e, ERR_USAGE, "--versus compares with the phase that --phase names");
    if (a->versus && (a->html || a->show || a->callers || a->callees))
        return err_set(e, ERR_USAGE, "--versus is a view of its own; give other views in another "
                                     "command");
    if (a->html && (a->json || a->show || a->callers || a->callees))
        return err_set(e, ERR_USAGE, "--html writes a page of its own; give other views in"
                                     " another command");
    if (a->dump && (a->html || a->json || a->versus || a->phase || views_chosen(a)))
        return err_set(e, ERR_USAGE, "--dump shows the file as it is; give views of the profile in "
                                     "another command");
    if (a->symbols.detail == SYMBOLS_QUICK && a->view.lines)
        return err_set(e, ERR_USAGE, "--quick reads no source lines, so --lines cannot show any");
    if (a->symbols.detail == SYMBOLS_FUNCTIONS &&
        (a->view.lines || a->show & SHOW_TABLES))
        a->symbols.detail = SYMBOLS_LINES;
    a->view.through = a->through;
    return true;
}

static struct report_style style_make(const struct arguments *a, FILE *out)
{
    struct report_style style = style_of_stream(out, a->ascii);
    style.ci = a->ci;
    style.lines = a->view.lines;
    style.verbose = a->verbose;
    style.chosen = views_chosen(a);
    style.no_fold = a->no_fold;
    style.full_names = a->full_names;
    style.min = a->min < 0 ? 0.5 : a->min;
    style.limit = a->limit < 0 ? FLAT_LIMIT : (uint32_t)a->limit;
    style.depth = a->depth < 0 ? TREE_DEPTH : (uint32_t)a->depth;
    return style;
}

static bool fail_unknown_function(const struct view *v, const char *pattern, struct err *e)
{
    struct suggest s = { 0 };
    for (uint32_t i = 0; i < v->function_count; i++)
        if (v->functions[i].total)
            suggest_offer(&s, pattern, v->functions[i].name);
    if (s.best)
        return err_set(e, ERR_USAGE, "no function in this profile is named or matches \"%s\";"
                                     " did you mean \"%s\"?", pattern, s.best);
    return err_set(e, ERR_USAGE, "no function in this profile is named or matches \"%s\";"
                                 " --flat --min 0 --limit 0 lists them all", pattern);
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

static bool has_ranks(const struct profile *p)
{
    for (uint32_t i = 0; i < p->process_count; i++)
        if (p->processes[i].rank)
            return true;
    return false;
}

/* What was not recorded cannot be shown; the views that are there by default say so themselves. */
static bool check_views(const struct view *v, const struct arguments *a, struct err *e)
{
    for (unsigned i = 0; i < TABLE_COUNT; i++) {
        const char *what = table_keeper(i)->name;
        if (a->show & show_table(i) && !table_of(v, i))
            return err_set(e, ERR_USAGE, "this profile has no %s; record --exact --tool %s, or --carrier burst --tool %s, "
                           "observes them", what, what, what);
    }
    if ((a->show & SHOW_TIMELINE) && !timeline_check(v, &a->view, e))
        return false;
    if ((a->show & SHOW_CALLS) && !calls_known(v))
        return err_set(e, ERR_USAGE, "no calls were counted in this profile: none of those that samples met has returned, "
                       "or they cannot be counted there (the notes of --verbose, docs/trampoline.md); "
                       "record --exact --tool calls counts all");
    if ((a->show & SHOW_SEMI_INVARIANT) && !v->profile->values)
        return err_set(e, ERR_USAGE, "this profile has no values; record some with --tool values");
    if ((a->show & SHOW_IMBALANCE) && !has_ranks(v->profile))
        return err_set(e, ERR_USAGE, "no process of this profile has a rank: it is not of a parallel program, or was recorded "
                       "otherwise than by mpirun ... penumbra record");
    if ((a->show & SHOW_PHASES) && !v->profile->phase_count)
        return err_set(e, ERR_USAGE, "the program named no phases (penumbra_phase_begin, penumbra/penumbra.h)");
    return true;
}

static struct expand_limits limits_make(const struct view *v, const struct report_style *style)
{
    double min = (double)v->samples * style->min / 100;
    return (struct expand_limits){ .min = min > 1 ? (uint64_t)min : 1, .depth = style->depth };
}

static bool print_around(FILE *out, const struct view *v, const struct report_style *style,
                         const char *pattern, bool callers, struct err *e)
{
    uint32_t count;
    bool *chosen = view_match(v, pattern, &count, e);
    if (!chosen)
        return false;
    struct view_tree tree;
    bool ok = (callers ? expand_callers : expand_callees)(v, chosen, limits_make(v, style), &tree,
                                                          e);
    free(chosen);
    if (!ok)
        return false;
    ok = report_tree(out, v, &tree, callers ? "function, and below it its callers"
                                            : "function, and below it what it called", style, e);
    free(tree.nodes);
    return ok;
}

static bool print_bottom_up(FILE *out, const struct view *v, const struct report_style *style,
                            struct err *e)
{
    struct view_tree tree;
    if (!expand_bottom_up(v, limits_make(v, style), &tree, e))
        return false;
    bool ok = report_tree(out, v, &tree, "function, and below it its callers", style, e);
    free(tree.nodes);
    return ok;
}

static bool print_imbalance(FILE *out, const struct view *v, const struct arguments *a,
                            const struct report_style *style, struct err *e)
{
    struct ranks *ranks = ranks_compute(v, &a->view, e);
    if (ranks)
        report_imbalance(out, v, ranks, style);
    ranks_free(ranks);
    return ranks != NULL;
}

/* Single instructions have small shares. */
#define SEMI_LEAST 0.05

static bool print_semi_invariant(FILE *out, const struct view *v, const struct arguments *a,
                                 const struct report_style *style, struct err *e)
{
    if (!v->profile->values)
        return err_set(e, ERR_USAGE, "this profile has no values; record some with --tool values");
    struct report_style semi = *style;
    semi.min = a->min < 0 ? SEMI_LEAST : a->min;
    struct value_reader *r = value_reader_new(v, &a->symbols);
    bool ok = r ? report_semi_invariant(out, r, &semi, e)
                : err_set(e, ERR_INTERNAL, "out of memory");
    value_reader_free(r);
    return ok;
}

/* What is shown of a profile if nothing is asked for. */
static unsigned default_views(const struct view *v)
{
    const struct profile_counts *c = v->profile->counts;
    bool flat = view_is_attributed(v) || !c;
    unsigned tables = 0;
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        if (table_views[i] && table_of(v, i))
            tables |= show_table(i);
    return (flat ? SHOW_FLAT : 0) | tables | (v->profile->values && !flat ? SHOW_SEMI_INVARIANT : 0);
}

static bool print_views(FILE *out, const struct view *v, const struct arguments *a,
                        const struct report_style *style, struct err *e)
{
    unsigned show = a->show;
    if (!views_chosen(a))
        show = default_views(v);
    bool ok = true;
    if (show & SHOW_PROCESSES)
        fputc('\n', out), report_processes(out, v, style);
    if (show & SHOW_THREADS)
        fputc('\n', out), report_threads(out, v, style);
    if (show & SHOW_PHASES)
        fputc('\n', out), report_phases(out, v, style);
    if (ok && (show & SHOW_TIMELINE))
        fputc('\n', out), ok = report_timeline(out, v, style, e);
    if (ok && (show & SHOW_IMAGES))
        fputc('\n', out), ok = report_images(out, v, style, e);
    if (ok && !views_chosen(a) && loads_were_asked_for(v))
        ok = loads_tables(out, v, style, e);
    if (ok && (show & SHOW_FLAT))
        fputc('\n', out), ok = report_flat(out, v, style, e);
    if (ok && !views_chosen(a) && v->profile->counts)
        ok = counted_tables(out, v, style, e);
    if (ok && (show & SHOW_CALLS))
        fputc('\n', out), ok = report_calls(out, v, style, e);
    for (unsigned i = 0; ok && i < TABLE_COUNT; i++)
        if (show & show_table(i))
            fputc('\n', out), ok = table_views[i]->text(out, v, table_of(v, i), style, e);
    if (ok && (show & SHOW_IMBALANCE))
        fputc('\n', out), ok = print_imbalance(out, v, a, style, e);
    if (ok && (show & SHOW_SEMI_INVARIANT))
        fputc('\n', out), ok = print_semi_invariant(out, v, a, style, e);
    if (ok && (show & SHOW_TREE))
        fputc('\n', out), ok = report_tree(out, v, &v->tree, "call path", style, e);
    if (ok && (show & SHOW_BOTTOM_UP))
        fputc('\n', out), ok = print_bottom_up(out, v, style, e);
    if (ok && a->callers)
        fputc('\n', out), ok = print_around(out, v, style, a->callers, true, e);
    if (ok && a->callees)
        fputc('\n', out), ok = print_around(out, v, style, a->callees, false, e);
    return ok;
}

/* The views that this profile has, and the recordings that would say what it lacks. */
static void print_more(FILE *out, const struct view *v)
{
    const struct profile *p = v->profile;
    bool contexts = !v->of_blocks && v->samples;
    fprintf(out, "\nMore: %s%s%s%s%s%s%s--by-image, --lines, --html FILE, --verbose\n",
            p->values ? "--semi-invariant, annotate, " : p->counts && p->counts->block_count ? "annotate, " : "",
            contexts ? "--tree, --bottom-up, --callers FUNC, " : "",
            calls_known(v) ? "--calls, " : "", p->thread_count > 1 ? "--by-thread, " : "",
            p->process_count > 1 ? "--by-process, " : "", p->phase_count ? "--by-phase, " : "",
            has_ranks(p) ? "--imbalance, " : "");
    char lacks[MORE_SIZE] = "";
    size_t used = 0;
    if (strcmp(p->metrics[0].trigger, "wall") != 0)
        used += (size_t)snprintf(lacks, sizeof lacks, "waiting (record -e wall), ");
    if (!p->values)
        used += (size_t)snprintf(lacks + used, sizeof lacks - used, "values (record --tool values), ");
    if (!view_is_of_calls(v))
        used += (size_t)snprintf(lacks + used, sizeof lacks - used, "every call (record --exact --tool calls), ");
    if (used > 2)
        fprintf(out, "What it lacks: %.*s\n", (int)used - 2, lacks);
}

static bool print_text(FILE *out, const struct view *v, const struct arguments *a, struct err *e)
{
    struct report_style style = style_make(a, out);
    report_header(out, v, &style);
    if (!print_views(out, v, a, &style, e))
        return false;
    if (!views_chosen(a))
        print_more(out, v);
    return true;
}

static bool make_json(struct buf *json, const struct view *v, const struct arguments *a,
                      struct err *e)
{
    struct report_json_options json_options = {
        .ci = a->ci,
        .flat = a->json_flat && !a->html,
        .min = a->min < 0 ? (a->html ? 0.01 : 0) : a->min,
        .limit = a->limit < 0 ? 0 : (uint32_t)a->limit,
        .depth = a->depth < 0 ? (a->html ? HTML_DEPTH : UINT32_MAX) : (uint32_t)a->depth,
        .blocks = a->html ? HTML_BLOCKS : 0,
        .timeline = a->show & SHOW_TIMELINE,
        .tables = a->limit >= 0 ? (uint32_t)a->limit : a->html ? HTML_ROWS : 0,
    };
    struct ranks *ranks = NULL;
    if (a->show & SHOW_IMBALANCE && !(ranks = ranks_compute(v, &a->view, e)))
        return false;
    struct annotated annotated = { .count = 0 };
    if (a->html && a->symbols.detail != SYMBOLS_QUICK)
        annotated_make(&annotated, v->profile, v->symbols, &a->symbols);
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

static bool print_json(FILE *out, const struct view *v, const struct arguments *a, struct err *e)
{
    struct buf json = { 0 };
    bool ok = make_json(&json, v, a, e);
    if (ok && a->html)
        ok = report_html((const char *)json.data, json.size, v->profile->command, out, e);
    else if (ok)
        fwrite(json.data, 1, json.size, out);
    buf_free(&json);
    return ok;
}

/* Writes to the chosen file and checks that all of it arrived. */
static bool print_versus(FILE *out, const struct view *v, const struct view *versus,
                         const struct arguments *a, struct err *e)
{
    struct compare_side sides[2] = { { a->phase, v }, { a->versus, versus } };
    struct report_style style = style_make(a, out);
    struct buf json = { 0 };
    if (!a->json)
        return report_compare_phases(out, sides, &style, e);
    bool ok = report_compare_phases_json(&json, sides, e);
    if (ok)
        fwrite(json.data, 1, json.size, out);
    buf_free(&json);
    return ok;
}

/* Where to write; NULL: standard output. */
static const char *output_path(const struct arguments *a)
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
    return written || err_set_errno(e, ERR_OUTPUT, errno, "cannot write %s",
                                    path ? path : "standard output");
}

static bool print(const struct view *v, const struct view *versus, const struct arguments *a,
                  struct err *e)
{
    if (!check_views(v, a, e) || !check_function(v, a->callers, e) || !check_function(v, a->callees, e))
        return false;
    const char *path = output_path(a);
    FILE *out = output_open(path, e);
    if (!out)
        return false;
    struct err ignored = { 0 };
    bool ok = versus                ? print_versus(out, v, versus, a, e)
              : a->json || a->html ? print_json(out, v, a, e)
                                   : print_text(out, v, a, e);
    return output_close(out, path, ok ? e : &ignored) && ok;
}

static bool dump(const struct arguments *a, struct err *e)
{
    size_t size;
    const char *path = output_path(a);
    uint8_t *data = file_read(a->input, &size, e);
    FILE *out = data ? output_open(path, e) : NULL;
    struct err ignored = { 0 };
    bool ok = out && report_dump(out, data, size, a->input, e);
    if (out)
        ok = output_close(out, path, ok ? e : &ignored) && ok;
    free(data);
    return ok;
}

/* The profile, or one phase of it, with what is made of it. */
struct side {
    struct profile *profile;
    struct symbols *symbols;
    struct view *view;
};

static bool has_table(const struct profile_counts *c)
{
    for (unsigned i = 0; c && i < TABLE_COUNT; i++)
        if (c->tables[i] && table_views[i])
            return true;
    return false;
}

static bool tells_threads_apart(const struct arguments *a)
{
    unsigned views = SHOW_THREADS | SHOW_PROCESSES | SHOW_IMBALANCE | SHOW_PHASES | SHOW_TIMELINE;
    return a->json || a->html || a->phase || a->time || a->view.thread || a->view.process || a->view.rank ||
           a->show & views;
}

static bool side_open(struct side *s, const struct arguments *a, const char *phase, struct err *e)
{
    struct view_options chosen = a->view;
    *s = (struct side){ .profile = open_profile_by(a->input, &chosen.metric, tells_threads_apart(a) ? PROFILE_APART : PROFILE_SUMMED, e) };
    chosen.by_thread = a->html && !chosen.metric;
    struct symbols_options names = a->symbols;
    /* Tables say where things are by the line. */
    if (s->profile && a->html && has_table(s->profile->counts) && names.detail == SYMBOLS_FUNCTIONS)
        names.detail = SYMBOLS_LINES;
    if (s->profile && (!phase || profile_keep_phase(s->profile, phase, e)) &&
        time_range_keep(s->profile, a->time, chosen.metric, e) && blocks_from_edges(s->profile, &names, e))
        s->symbols = symbols_load_with(s->profile, &names, e);
    if (s->symbols)
        s->view = view_build(s->profile, s->symbols, &chosen, e);
    return s->view != NULL;
}

static void side_close(struct side *s)
{
    view_free(s->view);
    symbols_free(s->symbols);
    profile_free(s->profile);
}

static void print_usage(void)
{
    fputs(usage_begin, stdout);
    for (uint32_t i = 0; i < TABLE_COUNT; i++)
        if (table_views[i])
            printf("      --%-16s %s (record --tool %s)\n", table_keeper(i)->name, table_keeper(i)->sentence,
                   table_keeper(i)->name);
    fputs(usage_end, stdout);
}

int command_report(int argc, char **argv)
{
    struct arguments a = { .input = "penumbra.pnb",
                           .min = -1,
                           .limit = -1,
                           .depth = -1,
                           .symbols.detail = SYMBOLS_FUNCTIONS };
    struct err e = { 0 };
    if (!parse(argc, argv, &a, &e))
        return command_fail("report", &e);
    if (a.help) {
        print_usage();
        return 0;
    }
    struct side first, second = { 0 };
    if (!output_is_apart(a.html ? a.html : a.output, a.input, &e))
        return command_fail("report", &e);
    if (a.dump)
        return dump(&a, &e) ? 0 : command_fail("report", &e);
    bool ok = side_open(&first, &a, a.phase, &e);
    if (ok && a.versus)
        ok = side_open(&second, &a, a.versus, &e);
    ok = ok && print(first.view, second.view, &a, &e);
    side_close(&first);
    side_close(&second);
    return ok ? 0 : command_fail("report", &e);
}
