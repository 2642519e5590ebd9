/* `penumbra compare PERFECT SAMPLED`: how accurate a sampled profile is. */
#include "cli/command.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "cli/open_profile.h"
#include "profile/paths.h"
#include "report/compare.h"
#include "report/from_edges.h"

struct arguments {
    const char *inputs[2]; /* perfect, sampled */
    const char *metric;
    enum compare_by by;
    bool by_given, json, help;
    struct symbols_options symbols;
};

static const char usage[] =
    "Usage: penumbra compare [options] PERFECT SAMPLED\n"
    "Measures the profile SAMPLED against the profile PERFECT, which is exact or has many more\n"
    "samples. Of two sampled profiles, prints how much they differ. docs/compare.md defines each\n"
    "number.\n"
    "\n"
    "Options\n"
    "      --by KIND          what to compare: function, path (calling contexts), call, block, edge,\n"
    "                         acyclic (the paths of record --tool paths), instruction (of sampled\n"
    "                         values) or result (instructions whose results PERFECT has); default:\n"
    "                         the finest of instruction, acyclic, edge, block, path that both have\n"
    "      --metric NAME      compare by another metric than the first of both\n"
    "      --json             as JSON (docs/json.md)\n"
    "      --debug-dir DIR    look for separate debug files here too\n"
    "  -h, --help             this text\n";

enum option_value { OPTION_BY = 256, OPTION_JSON, OPTION_DEBUG_DIR, OPTION_METRIC };

static const struct option options[] = {
    {"by", required_argument, NULL, OPTION_BY},
    {"json", no_argument, NULL, OPTION_JSON},
    {"debug-dir", required_argument, NULL, OPTION_DEBUG_DIR},
    {"metric", required_argument, NULL, OPTION_METRIC},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static bool set_by(struct arguments *a, const char *name, struct err *e)
{
    struct suggest s = {0};
    for (unsigned i = 0; i < COMPARE_KINDS; i++) {
        if (strcmp(name, compare_by_name(i)) == 0) {
            a->by = (enum compare_by)i;
            a->by_given = true;
            return true;
        }
        suggest_offer(&s, name, compare_by_name(i));
    }
    if (s.best)
        return err_set(e, ERR_USAGE, "--by %s: did you mean %s?", name, s.best);
    return err_set(e, ERR_USAGE, "--by %s: it is function, path, call, block, edge, acyclic, instruction or result",
                   name);
}

static bool bad_option(int answer, char **argv, struct err *e)
{
    const char *typed = argv[optind - 1];
    if (answer == ':')
        return err_set(e, ERR_USAGE, "%s needs a value; see penumbra compare --help", typed);
    struct suggest s = {0};
    for (const struct option *o = options; o->name; o++)
        suggest_offer(&s, typed + strspn(typed, "-"), o->name);
    if (s.best)
        return err_set(e, ERR_USAGE, "there is no option %s; did you mean --%s?", typed, s.best);
    return err_set(e, ERR_USAGE, "there is no option %s; see penumbra compare --help", typed);
}

static bool parse(int argc, char **argv, struct arguments *a, struct err *e)
{
    optind = 1;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":h", options, NULL)) != -1;)
        switch (option) {
        case OPTION_BY:
            if (!set_by(a, optarg, e))
                return false;
            break;
        case OPTION_JSON: a->json = true; break;
        case OPTION_DEBUG_DIR: a->symbols.debug_path = optarg; break;
        case OPTION_METRIC: a->metric = optarg; break;
        case 'h': a->help = true; return true;
        default: return bad_option(option, argv, e);
        }
    if (argc - optind != 2)
        return err_set(e, ERR_USAGE, "two profiles are compared, %s; penumbra compare PERFECT SAMPLED",
                       argc - optind < 2 ? "and fewer were given" : "and more were given");
    a->inputs[0] = argv[optind];
    a->inputs[1] = argv[optind + 1];
    return true;
}

static bool has_tree(const struct profile *p)
{
    for (uint32_t i = 0; i < p->thread_count; i++)
        if (p->threads[i].node_count > 1)
            return true;
    return false;
}

static bool has_paths(const struct profile_counts *c)
{
    return c && profile_paths_of(c) && profile_paths_of(c)->count;
}

static enum compare_by finest(const struct profile *a, const struct profile *b)
{
    const struct profile_counts *x = a->counts, *y = b->counts;
    if (a->values && b->values && a->values->hotlist_count && b->values->hotlist_count)
        return COMPARE_INSTRUCTION;
    if (has_paths(x) && has_paths(y))
        return COMPARE_ACYCLIC;
    if (x && y && x->edge_count && y->edge_count)
        return COMPARE_EDGE;
    if (x && y && x->block_count && y->block_count)
        return COMPARE_BLOCK;
    return has_tree(a) && has_tree(b) ? COMPARE_PATH : COMPARE_FUNCTION;
}

static void print(const struct comparison *c, const struct arguments *a, struct view *const views[2])
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
    if (!parse(argc, argv, &a, &e))
        return command_fail("compare", &e);
    if (a.help) {
        fputs(usage, stdout);
        return 0;
    }
    bool ok = true;
    for (unsigned i = 0; ok && i < 2; i++) {
        struct view_options whole = {.metric = a.metric};
        profiles[i] = open_profile_by(a.inputs[i], &whole.metric, PROFILE_APART, &e);
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
