/* `penumbra annotate FILE FUNCTION`: source and disassembly with what was counted at each. */
#include "cli/command.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/suggest.h"
#include "cli/open_profile.h"
#include "cli/style.h"
#include "report/annotate.h"
#include "report/from_edges.h"

struct arguments {
    const char *input, *function, *metric;
    bool json, help;
    struct symbols_options symbols;
};

static const char usage[] =
    "Usage: penumbra annotate [options] [FILE] FUNCTION\n"
    "Shows the instructions of FUNCTION beside their source lines, each with its samples, or with its\n"
    "executions if FILE (penumbra.pnb by default) has exact counts.\n"
    "\n"
    "FUNCTION is a name, with or without parameters, a regular expression that only one function\n"
    "matches, or a place in it: IMAGE+0xOFFSET. A function's name means itself, not its clones.\n"
    "\n"
    "Options\n"
    "      --metric NAME      samples by another metric than the first\n"
    "      --json             as JSON (docs/json.md)\n"
    "      --debug-dir DIR    look for separate debug files here too\n"
    "  -h, --help             this text\n";

enum option_value { OPTION_JSON = 256, OPTION_DEBUG_DIR, OPTION_METRIC };

static const struct option options[] = {
    {"json", no_argument, NULL, OPTION_JSON},
    {"debug-dir", required_argument, NULL, OPTION_DEBUG_DIR},
    {"metric", required_argument, NULL, OPTION_METRIC},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static bool bad_option(int answer, char **argv, struct err *e)
{
    const char *typed = argv[optind - 1];
    if (answer == ':')
        return err_set(e, ERR_USAGE, "%s needs a value; see penumbra annotate --help", typed);
    struct suggest s = {0};
    for (const struct option *o = options; o->name; o++)
        suggest_offer(&s, typed + strspn(typed, "-"), o->name);
    if (s.best)
        return err_set(e, ERR_USAGE, "there is no option %s; did you mean --%s?", typed, s.best);
    return err_set(e, ERR_USAGE, "there is no option %s; see penumbra annotate --help", typed);
}

static bool parse(int argc, char **argv, struct arguments *a, struct err *e)
{
    optind = 1;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":h", options, NULL)) != -1;)
        switch (option) {
        case OPTION_JSON: a->json = true; break;
        case OPTION_DEBUG_DIR: a->symbols.debug_path = optarg; break;
        case OPTION_METRIC: a->metric = optarg; break;
        case 'h': a->help = true; return true;
        default: return bad_option(option, argv, e);
        }
    int count = argc - optind;
    bool only_file = count == 1 && access(argv[optind], F_OK) == 0;
    if ((count != 1 && count != 2) || only_file)
        return err_set(e, ERR_USAGE, "a function is needed, and a profile if it is not penumbra.pnb: penumbra annotate [FILE] "
                       "FUNCTION; see penumbra annotate --help");
    a->input = count == 2 ? argv[optind] : "penumbra.pnb";
    a->function = argv[argc - 1];
    return true;
}

static void print(const struct annotation *annotation, const struct arguments *a)
{
    struct buf out = {0};
    struct json json = {.out = &out};
    if (!a->json) {
        struct report_style style = style_of_stream(stdout, false);
        report_annotation(stdout, annotation, &style);
        return;
    }
    annotation_json(&json, annotation);
    buf_put_u8(&out, '\n');
    fwrite(out.data, 1, out.size, stdout);
    buf_free(&out);
}

int command_annotate(int argc, char **argv)
{
    struct arguments a = {.symbols.detail = SYMBOLS_QUICK};
    struct view_options physical = {.no_inline = true};
    struct err e = {0};
    if (!parse(argc, argv, &a, &e))
        return command_fail("annotate", &e);
    if (a.help) {
        fputs(usage, stdout);
        return 0;
    }
    struct profile *profile = open_profile_by(a.input, &a.metric, PROFILE_APART, &e);
    physical.metric = a.metric;
    bool known = profile && blocks_from_edges(profile, &a.symbols, &e);
    struct symbols *symbols = known ? symbols_load_with(profile, &a.symbols, &e) : NULL;
    struct view *view = symbols ? view_build(profile, symbols, &physical, &e) : NULL;
    struct annotation *annotation = view ? annotate(view, a.function, &a.symbols, &e) : NULL;
    bool ok = annotation != NULL;
    if (ok)
        print(annotation, &a);
    if (ok && (fflush(stdout) || ferror(stdout)))
        ok = err_set_errno(&e, ERR_OUTPUT, errno, "cannot write standard output");
    annotation_free(annotation);
    view_free(view);
    symbols_free(symbols);
    profile_free(profile);
    return ok ? 0 : command_fail("annotate", &e);
}
