/* `penumbra compare PERFECT SAMPLED`: how accurate a sampled profile is. */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/options.h"
#include "collector/open_profile.h"
#include "profile/events.h"
#include "profile/paths.h"
#include "report/compare_productions.h"
#include "report/from_edges.h"

struct arguments {
    const char *inputs[2]; /* perfect, sampled */
    const char *metric;
    uint32_t by; /* enum compare_by */
    bool by_given, json;
    struct symbols_options symbols;
};

static const char *by_word(unsigned index)
{
    return index < COMPARE_KINDS ? compare_by_name(index) : NULL;
}

static const struct option_row rows[] = {
    {0, "by", "KIND",
     .help = "what to compare: function, path (calling contexts), call, block, edge, acyclic (the "
             "paths of "
             "record --tool paths), instruction (of sampled values), result (instructions whose "
             "results "
             "PERFECT has), callsite or field (of record --carrier compiled), pair, method, count "
             "or stream (of record --production); default: the finest of instruction, acyclic, "
             "callsite, field, pair, method, count, stream, edge, block, path that both have",
     .word = by_word, FIELD(struct arguments, by), GIVEN(struct arguments, by_given),
     .number.what = "kind of comparison"},
    {0, "metric", "NAME", .help = "compare by another metric than the first of both",
     FIELD(struct arguments, metric), .word = metric_word},
    {0, "json", .help = "as JSON (docs/json.md)", FIELD(struct arguments, json)},
    {0, "debug-dir", "DIR", .help = "look for separate debug files here too",
     FIELD(struct arguments, symbols.debug_path)},
};

static const struct options options = {
    .command = "compare",
    .usage = "Usage: penumbra compare [options] PERFECT SAMPLED\n"
             "Measures the profile SAMPLED against the profile PERFECT, which is exact or has many "
             "more\n"
             "samples. Of two sampled profiles, prints how much they differ. docs/compare.md "
             "defines each\n"
             "number.\n"
             "\n"
             "Options\n",
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
};

static bool has_tree(const struct profile *p)
{
    for (uint32_t i = 0; i < p->thread_count; i++)
        if (p->threads[i].node_count > 1)
            return true;
    return false;
}

static bool has_paths(const struct profile *p)
{
    return profile_paths_of(p) && profile_paths_of(p)->count;
}

static bool has_events(const struct profile *p, uint32_t table)
{
    const struct profile_events *t = observed_table(p, table);
    return t && t->count;
}

static enum compare_by finest(const struct profile *a, const struct profile *b)
{
    const struct profile_counts *x = observed_code(a), *y = observed_code(b);
    const struct profile_values *v = observed_values(a), *w = observed_values(b);
    if (has_events(a, TABLE_CALLSITES) && has_events(b, TABLE_CALLSITES))
        return COMPARE_CALLSITE;
    if (v && w && v->hotlist_count && w->hotlist_count)
        return COMPARE_INSTRUCTION;
    if (has_paths(a) && has_paths(b))
        return COMPARE_ACYCLIC;
    if (has_events(a, TABLE_FIELDS) && has_events(b, TABLE_FIELDS))
        return COMPARE_FIELD;
    for (enum compare_by by = COMPARE_PAIR; by <= COMPARE_STREAM; by++)
        if (compare_has_productions(a, by) && compare_has_productions(b, by))
            return by;
    if (x && y && x->edge_count && y->edge_count)
        return COMPARE_EDGE;
    if (x && y && x->block_count && y->block_count)
        return COMPARE_BLOCK;
    return has_tree(a) && has_tree(b) ? COMPARE_PATH : COMPARE_FUNCTION;
}

static void print(const struct comparison *c, const struct arguments *a,
                  struct view *const views[2])
{
    struct buf json = {0};
    if (!a->json) {
        report_comparison(stdout, c, views[0], views[1]);
        return;
    }
    report_comparison_json(&json, c, views[0], views[1]);
    fwrite(json.data, 1, json.size, stdout);
    buf_free(&json);
}

int command_compare(int argc, char **argv)
{
    struct arguments a = {.symbols.detail = SYMBOLS_QUICK};
    struct err e = {0};
    struct profile *profiles[2] = {NULL, NULL};
    struct symbols *symbols[2] = {NULL, NULL};
    struct view *views[2] = {NULL, NULL};
    struct comparison c;
    int first, status;
    if (!options_take(&options, argc, argv, &a, &first, &status))
        return status;
    if (argc - first != 2) {
        err_set(&e, ERR_USAGE, "two profiles are compared, %s; penumbra compare PERFECT SAMPLED",
                argc - first < 2 ? "and fewer were given" : "and more were given");
        return command_fail("compare", &e);
    }
    a.inputs[0] = argv[first];
    a.inputs[1] = argv[first + 1];
    bool ok = true;
    for (unsigned i = 0; ok && i < 2; i++) {
        struct view_options whole = {.metric = a.metric};
        profiles[i] = open_profile_by(a.inputs[i], NULL, &whole.metric, PROFILE_APART,
                                      command_progress(), &e);
        ok = profiles[i] && blocks_from_edges(profiles[i], &a.symbols, &e);
        symbols[i] = ok ? symbols_load_with(profiles[i], &a.symbols, &e) : NULL;
        views[i] = symbols[i] ? view_build(profiles[i], symbols[i], &whole, &e) : NULL;
        ok = views[i] != NULL;
    }
    if (ok && !a.by_given)
        a.by = finest(profiles[0], profiles[1]);
    ok = ok && compare_views(views[0], views[1], a.by, &c, &e);
    if (ok)
        print(&c, &a, views);
    if (ok && (fflush(stdout) || ferror(stdout)))
        ok = err_set_errno(&e, ERR_OUTPUT, errno, "cannot write standard output");
    for (unsigned i = 0; i < 2; i++) {
        view_free(views[i]);
        symbols_free(symbols[i]);
        profile_free(profiles[i]);
    }
    return ok ? 0 : command_fail("compare", &e);
}
