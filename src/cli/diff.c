/* `penumbra diff BEFORE AFTER`: what changed between two recordings. */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diff_rules.h"
#include "cli/options.h"
#include "cli/style.h"
#include "collector/open_profile.h"
#include "report/diff.h"
#include "report/diff_causes.h"
#include "report/diff_values.h"
#include "report/from_edges.h"
#include "report/html.h"

/* Its own among the exit statuses (docs/exit-status.md). */
enum { STATUS_RULE_BROKEN = 1 };
enum { RUNS_MOST = 256, RULES_MOST = 32, ROWS_SHOWN = 30 };

struct arguments {
    const char *inputs[DIFF_SIDES][RUNS_MOST];
    uint32_t counts[DIFF_SIDES];
    struct diff_rule rules[RULES_MOST];
    uint32_t rule_count;
    uint32_t by; /* enum diff_normalize */
    struct view_options view;
    struct symbols_options symbols;
    const char *output, *html;
    double min;
    int64_t limit;
    bool by_given, contexts, lines, values, json, folded, no_shapes, full_names, quick;
};

static const char *normalize_word(unsigned index)
{
    return diff_normalize_name(index);
}

static bool take_input(struct arguments *a, unsigned side, const char *path, struct err *e)
{
    if (a->counts[side] == RUNS_MOST)
        return err_set(e, ERR_USAGE, "at most %d recordings a side", RUNS_MOST);
    a->inputs[side][a->counts[side]++] = path;
    return true;
}

static bool take_before(void *arguments, const char *value, struct err *e)
{
    return take_input(arguments, DIFF_BEFORE, value, e);
}

static bool take_after(void *arguments, const char *value, struct err *e)
{
    return take_input(arguments, DIFF_AFTER, value, e);
}

static bool take_rule(void *arguments, const char *value, struct err *e)
{
    struct arguments *a = arguments;
    if (a->rule_count == RULES_MOST)
        return err_set(e, ERR_USAGE, "at most %d times --fail-on", RULES_MOST);
    return diff_rule_parse(&a->rules[a->rule_count++], value, e);
}

static const struct option_row rows[] = {
    {0, "before", "FILE...", .help = "recordings before the change", .take = take_before},
    {0, "after", "FILE...", .help = "recordings after it", .take = take_after},
    {0, "normalize", "KIND", .fallback = "total, of simulations none",
     .help = "compare %s: shares of the total, per elapsed time, per instruction executed, or as "
             "it is",
     .word = normalize_word, FIELD(struct arguments, by), GIVEN(struct arguments, by_given),
     .number.what = "normalization"},
    {0, "metric", "NAME", .help = "compare by another metric than the first of all",
     FIELD(struct arguments, view.metric), .word = metric_word},
    {0, "contexts", .help = "calling contexts instead of functions",
     FIELD(struct arguments, contexts)},
    {0, "lines", .help = "of simulations: lines instead of functions",
     FIELD(struct arguments, lines)},
    {0, "values",
     .help = "sampled values (record --tool values), and where loads come from (--tool latency): "
             "which share of an instruction's each has",
     FIELD(struct arguments, values)},
    {0, "fail-on", "'FUNC > N%'",
     .help = "exit with status 1 if FUNC, with what it calls, surely grew, and by more than N% of "
             "what it was; 'FUNC self > N%' is of its own samples, 'FUNC < -N%' of shrinking; with "
             "--values, FUNC is a regular expression of a row's place and value",
     .take = take_rule},
    {0, "no-shapes", .help = "do not look for renamed functions by their callers and callees",
     FIELD(struct arguments, no_shapes)},
    {0, "no-inline", .help = "count inlined functions for the function that they are part of",
     FIELD(struct arguments, view.no_inline)},
    {0, "min", "PERCENT", .fallback = "0.5", .help = "leave out rows of noise with less",
     FIELD(struct arguments, min), NUMBER(number_percent, 0, 100)},
    {0, "limit", "N", .fallback = "30; 0 is no limit", .help = "rows of a table",
     FIELD(struct arguments, limit), NUMBER(number_counts, 0, 4e9)},
    {0, "full-names", .help = "long C++ names with all template arguments and parameters",
     FIELD(struct arguments, full_names)},
    {0, "json", .help = "as JSON (docs/json.md)", FIELD(struct arguments, json)},
    {0, "folded", .help = "as lines \"STACK BEFORE AFTER\", which flamegraph.pl draws",
     FIELD(struct arguments, folded)},
    {0, "html", "FILE", .help = "one self-contained page with a differential flame graph",
     FIELD(struct arguments, html)},
    {'o', "output", "FILE", .help = "write to FILE instead of standard output",
     FIELD(struct arguments, output)},
    {0, "quick", .help = "names from symbol tables only: no inlined functions",
     FIELD(struct arguments, quick)},
    {0, "debug-dir", "DIR", .help = "look for separate debug files here too",
     FIELD(struct arguments, symbols.debug_path)},
};

static const struct options options = {
    .command = "diff",
    .usage = "Usage: penumbra diff [options] BEFORE AFTER\n"
             "       penumbra diff [options] --before FILE... --after FILE...\n"
             "Says what changed between two recordings, or two groups of them, in which direction, "
             "and\n"
             "whether it is more than chance (docs/diff.md).\n"
             "\n"
             "Options\n",
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
};

/* ---- arguments ---- */

/* "--before a b --after c" means "--before a --before b --after c". To free(). */
static char **repeat_options(int argc, char **argv, int *count)
{
    static char before[] = "--before", after[] = "--after";
    char **words = calloc(2 * (size_t)argc + 1, sizeof *words), *group = NULL;
    bool has_value = false, ended = false;
    *count = 0;
    for (int i = 0; words && i < argc; i++) {
        bool dashes = i && !ended && argv[i][0] == '-' && argv[i][1];
        if (dashes) {
            bool first = !strcmp(argv[i], before), second = !strcmp(argv[i], after);
            group = first || !strncmp(argv[i], "--before=", sizeof before)  ? before
                    : second || !strncmp(argv[i], "--after=", sizeof after) ? after
                                                                            : NULL;
            has_value = !first && !second;
            ended = !strcmp(argv[i], "--");
        } else if (group) {
            if (has_value)
                words[(*count)++] = group;
            has_value = true;
        }
        words[(*count)++] = argv[i];
    }
    return words;
}

static bool check_output(const struct arguments *a, struct err *e)
{
    for (unsigned side = 0; side < DIFF_SIDES; side++)
        for (uint32_t i = 0; i < a->counts[side]; i++)
            if (!output_is_apart(a->html ? a->html : a->output, a->inputs[side][i], e))
                return false;
    return true;
}

static bool take_arguments(struct arguments *a, int count, char **words, struct err *e)
{
    bool grouped = a->counts[DIFF_BEFORE] || a->counts[DIFF_AFTER];
    if (grouped && count)
        return err_set(e, ERR_USAGE, "\"%s\" is on neither side: it follows neither --before nor "
                                     "--after", words[0]);
    if (grouped && (!a->counts[DIFF_BEFORE] || !a->counts[DIFF_AFTER]))
        return err_set(e, ERR_USAGE, "there is nothing to compare with: both --before and --after "
                                     "are needed");
    if (!grouped && count != DIFF_SIDES)
        return err_set(e, ERR_USAGE,
                       "two recordings are compared, and %s were given; several of a side go to "
                       "--before and --after",
                       count < DIFF_SIDES ? "fewer" : "more");
    for (unsigned side = 0; !grouped && side < DIFF_SIDES; side++)
        take_input(a, side, words[side], e);
    if (a->values && (a->folded || a->contexts || a->lines || a->html || a->by))
        return err_set(e, ERR_USAGE, "--values has tables of its own, as text or --json: no "
                       "--contexts, --lines, --folded, --html or --normalize");
    if (a->json + a->folded + a->contexts + a->lines + (a->html != NULL) > 1)
        return err_set(e, ERR_USAGE,
                       "--json, --folded, --html, --contexts and --lines are different outputs; "
                       "JSON has all, and the page both functions and contexts");
    a->symbols.detail = a->quick ? SYMBOLS_QUICK : SYMBOLS_FUNCTIONS;
    return check_output(a, e);
}

/* ---- recordings ---- */

struct recordings {
    struct profile *profiles[DIFF_SIDES * RUNS_MOST];
    struct symbols *symbols[DIFF_SIDES * RUNS_MOST];
    struct view *views[DIFF_SIDES * RUNS_MOST];
    struct diff_run runs[DIFF_SIDES * RUNS_MOST];
    const char *files[DIFF_SIDES * RUNS_MOST];
    uint32_t count;
};

static bool open_one(struct recordings *r, const struct arguments *a, const char *path,
                     unsigned side, struct err *e)
{
    uint32_t i = r->count++;
    struct view_options chosen = a->view;
    struct symbols_options symbols = a->symbols;
    r->files[i] = path;
    r->profiles[i] =
        open_profile_by(path, NULL, &chosen.metric, PROFILE_SUMMED_BY_NAME, command_progress(), e);
    if (r->profiles[i] && profile_is_simulated(r->profiles[i]) && (a->lines || a->json))
        symbols.detail = SYMBOLS_LINES;
    if (r->profiles[i] && blocks_from_edges(r->profiles[i], &symbols, e))
        r->symbols[i] = symbols_load_with(r->profiles[i], &symbols, e);
    if (r->symbols[i])
        r->views[i] = view_build(r->profiles[i], r->symbols[i], &chosen, e);
    r->runs[i] = (struct diff_run){r->views[i], side};
    return r->views[i];
}

static bool open_all(struct recordings *r, const struct arguments *a, struct err *e)
{
    for (unsigned side = 0; side < DIFF_SIDES; side++)
        for (uint32_t i = 0; i < a->counts[side]; i++)
            if (!open_one(r, a, a->inputs[side][i], side, e))
                return false;
    return true;
}

static void close_all(struct recordings *r)
{
    for (uint32_t i = 0; i < r->count; i++) {
        view_free(r->views[i]);
        symbols_free(r->symbols[i]);
        profile_free(r->profiles[i]);
    }
    free(r);
}

/* ---- output ---- */

static bool print_bytes(FILE *out, const struct diff *d, const struct diff_values *values,
                        const struct arguments *a, const struct recordings *r, struct err *e)
{
    struct buf bytes = {0};
    bool ok = values      ? diff_values_json(&bytes, values, r->files, e)
              : a->folded ? diff_folded(&bytes, d, e)
                          : diff_json(&bytes, d, r->files, a->html, 0, e);
    if (ok && d && a->html)
        ok = report_html((const char *)bytes.data, bytes.size,
                         d->runs[d->run_count - 1].view->profile->command, out, e);
    else if (ok && bytes.size)
        fwrite(bytes.data, 1, bytes.size, out);
    buf_free(&bytes);
    return ok;
}

/* Of the two, one is NULL. */
static bool print(const struct diff *d, const struct diff_values *values, const struct arguments *a,
                  const struct recordings *r, struct err *e)
{
    const char *path = a->html ? a->html : a->output;
    path = path && strcmp(path, "-") != 0 ? path : NULL;
    FILE *out = path ? fopen(path, "we") : stdout;
    if (!out)
        return err_set_errno(e, ERR_OUTPUT, errno, "cannot create %s", path);
    struct report_style style = style_of_stream(out, false);
    style.min = a->min;
    style.limit = (uint32_t)a->limit;
    style.full_names = a->full_names;
    const struct diff_text_options text = {
        .style = &style, .contexts = a->contexts, .lines = a->lines};
    bool bytes = a->json || a->folded || a->html;
    bool ok = bytes    ? print_bytes(out, d, values, a, r, e)
              : values ? diff_values_text(out, values, &style)
                       : diff_text(out, d, &text, e);
    bool written = !ferror(out);
    written = (path ? fclose(out) : fflush(out)) == 0 && written;
    return ok && (written || err_set_errno(e, ERR_OUTPUT, errno, "cannot write %s",
                                           path ? path : "standard output"));
}

static bool refuse_lines(const struct recordings *r, struct err *e)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (!profile_is_simulated(r->profiles[i]))
            return err_set(e, ERR_USAGE, "--lines compares simulations (penumbra simulate), and %s "
                                         "is none", r->files[i]);
    return err_set(e, ERR_USAGE, "--lines compares cycles, not what --metric asks for");
}

static bool run(const struct arguments *a, unsigned *broken, struct err *e)
{
    struct recordings *r = calloc(1, sizeof *r);
    if (!r)
        return err_set(e, ERR_INTERNAL, "out of memory");
    bool ok = open_all(r, a, e);
    struct diff_values *values =
        ok && a->values ? diff_values_build(r->runs, r->count, &a->symbols, e) : NULL;
    bool simulated = ok && diff_has_causes(r->runs, r->count);
    enum diff_normalize by = simulated && !a->by_given ? DIFF_BY_NONE : (enum diff_normalize)a->by;
    if (ok && a->lines && !simulated)
        ok = refuse_lines(r, e);
    struct diff *d =
        ok && !a->values ? diff_build(r->runs, r->count, by, !a->no_shapes, e) : NULL;
    ok = (d || values) && print(d, values, a, r, e);
    for (uint32_t i = 0; ok && i < a->rule_count; i++)
        ok = values ? diff_rule_check_values(stderr, &a->rules[i], values, broken, e)
                    : diff_rule_check(stderr, &a->rules[i], d, broken, e);
    diff_values_free(values);
    diff_free(d);
    close_all(r);
    return ok;
}

int command_diff(int argc, char **argv)
{
    static struct arguments a = {.min = 0.5, .limit = ROWS_SHOWN};
    struct err e = {0};
    int first, status, count;
    unsigned broken = 0;
    char **words = repeat_options(argc, argv, &count);
    if (!words) {
        err_set(&e, ERR_INTERNAL, "out of memory");
        return command_fail("diff", &e);
    }
    bool taken = options_take(&options, count, words, &a, &first, &status);
    if (taken && !(take_arguments(&a, count - first, words + first, &e) && run(&a, &broken, &e)))
        status = command_fail("diff", &e);
    for (uint32_t i = 0; i < a.rule_count; i++)
        diff_rule_fini(&a.rules[i]);
    free(words);
    return status ? status : broken ? STATUS_RULE_BROKEN : 0;
}
