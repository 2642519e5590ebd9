/* `penumbra annotate FILE FUNCTION`: source and disassembly with what was counted at each. */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "collector/open_profile.h"
#include "cli/options.h"
#include "cli/style.h"
#include "report/annotate.h"
#include "report/from_edges.h"

struct arguments {
    const char *input, *function, *metric, *observation;
    bool json;
    struct symbols_options symbols;
};

static const struct option_row rows[] = {
    {0, "metric", "NAME", .help = "samples by another metric than the first",
     FIELD(struct arguments, metric), .word = metric_word},
    {0, "observation", "NAME",
     .help = "of a merged profile that keeps several apart: this one instead of the first (exact, "
             "sampled, a carrier, a tool, or CARRIER:TOOL)",
     FIELD(struct arguments, observation), .word = observation_word},
    {0, "json", .help = "as JSON (docs/json.md)", FIELD(struct arguments, json)},
    {0, "debug-dir", "DIR", .help = "look for separate debug files here too",
     FIELD(struct arguments, symbols.debug_path)},
};

static const struct options options = {
    .command = "annotate",
    .usage = "Usage: penumbra annotate [options] [FILE] FUNCTION\n"
             "Shows the instructions of FUNCTION beside their source lines, each with its samples, "
             "or with its\n"
             "executions if FILE (penumbra.pnb by default) has exact counts.\n"
             "\n"
             "FUNCTION is a name, with or without parameters, a regular expression that only one "
             "function\n"
             "matches, or a place in it: IMAGE+0xOFFSET. A function's name means itself, not its "
             "clones.\n"
             "\n"
             "Options\n",
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
};

static bool take_arguments(struct arguments *a, int count, char **words, struct err *e)
{
    bool only_file = count == 1 && access(words[0], F_OK) == 0;
    if ((count != 1 && count != 2) || only_file)
        return err_set(e, ERR_USAGE,
                       "a function is needed, and a profile if it is not penumbra.pnb: penumbra "
                       "annotate [FILE] "
                       "FUNCTION; see penumbra annotate --help");
    a->input = count == 2 ? words[0] : PROFILE_DEFAULT;
    a->function = words[count - 1];
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
    int first, status;
    if (!options_take(&options, argc, argv, &a, &first, &status))
        return status;
    if (!take_arguments(&a, argc - first, argv + first, &e))
        return command_fail("annotate", &e);
    struct profile *profile = open_profile_by(a.input, a.observation, &a.metric,
                                              PROFILE_APART, command_progress(), &e);
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
