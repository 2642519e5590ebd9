#include "cli/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/options.h"
#include "cli/time_range.h"
#include "collector/open_profile.h"
#include "export/export.h"
#include "profile/block_tree.h"
#include "profile/phases.h"
#include "report/from_edges.h"

struct format {
    const char *name;
    export_function *run;
    const char *binary_output; /* default file name where the bytes do not suit a terminal */
    enum profile_summing summing; /* which threads it does not tell apart, unless asked to */
    enum export_kind kind;
};

#define FORMAT_ROW(function, name, binary_output, summing, kind)                                   \
    {name, export_##function, binary_output, summing, kind},
static const struct format formats[] = {EXPORT_FORMATS(FORMAT_ROW)};

struct arguments {
    const char *input;
    const char *output; /* NULL: not given */
    uint32_t format;    /* of formats[] */
    struct export_options options;
    const char *phase;  /* NULL: all of them */
    const char *time;   /* NULL: all of it */
    const char *observation; /* NULL: the first */
    const char *metric; /* NULL: the first; pprof has all */
    bool quick;
};

static const char *format_word(unsigned index)
{
    return index < sizeof formats / sizeof *formats ? formats[index].name : NULL;
}

static bool take_depth(void *arguments, const char *text, struct err *e)
{
    struct arguments *a = arguments;
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || value > UINT32_MAX || value == 1)
        return err_set(e, ERR_USAGE,
                       "--max-depth wants a number of frames, 2 or more, or 0 for no "
                       "limit, not '%s'",
                       text);
    a->options.max_depth = (uint32_t)value;
    return true;
}

static const struct option_row rows[] = {
    {'f', "format", "FORMAT", .fallback = "pprof", .help = "%s", .word = format_word,
     FIELD(struct arguments, format)},
    {'o', "output", "FILE",
     .help = "where to write; - is standard output (default); instead of to a terminal, "
             "pprof goes to penumbra.pb.gz, JSON to penumbra.FORMAT.json, otlp to "
             "penumbra.otlp.pb, autofdo to penumbra.afdo",
     FIELD(struct arguments, output)},
    {0, "threads",
     .help =
         "folded: begin stacks with THREAD-PID/TID, not the process's name; speedscope: a profile "
         "for each thread, in the order of time",
     FIELD(struct arguments, options.threads)},
    {0, "max-depth", "N", .fallback = "2048",
     .help = "folded, pprof, speedscope, otlp: show at most N frames of a stack, half of them "
             "outermost, half innermost; 0 is no limit",
     .take = take_depth},
    {0, "image", "FILE",
     .help = "formats for optimizers and linkers: for this program or library, of the build that "
             "was recorded (default: the main program)",
     FIELD(struct arguments, options.image)},
    {0, "metric", "NAME",
     .help =
         "folded, callgrind: this metric instead of the first; pprof, speedscope, firefox, otlp: "
         "all of them, this one first",
     FIELD(struct arguments, metric), .word = metric_word},
    {0, "observation", "NAME",
     .help = "of a merged profile that keeps several apart: this one instead of the first (exact, "
             "sampled, a carrier, a tool, or CARRIER:TOOL)",
     FIELD(struct arguments, observation), .word = observation_word},
    {0, "phase", "NAME", .help = "only samples in this phase, and in phases nested in it",
     FIELD(struct arguments, phase)},
    {0, "time", "FROM..TO",
     .help = "only this part of the time, in seconds since the start (2.5..4) or in percent "
             "(50%..100%), "
             "as exactly as docs/timeline.md says",
     FIELD(struct arguments, time)},
    {0, "quick", .help = "names from symbol tables only: no lines, no inlined functions",
     FIELD(struct arguments, quick)},
};

static const struct options options = {
    .command = "export",
    .usage = "Usage: penumbra export [options] [FILE]\n"
             "Writes a recorded profile (penumbra.pnb by default) in another tool's format.\n"
             "\n",
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
};

static bool take_arguments(struct arguments *a, int count, char **words, struct err *e)
{
    if (count > 1)
        return err_set(e, ERR_USAGE, "one profile at a time, but '%s' follows '%s'", words[1],
                       words[0]);
    if (count)
        a->input = words[0];
    return true;
}

static bool write_bytes(const struct buf *bytes, const char *path, struct err *e)
{
    bool to_stdout = !path;
    const char *name = to_stdout ? "standard output" : path;
    FILE *f = to_stdout ? stdout : fopen(path, "wb");
    if (!f)
        return err_set_errno(e, ERR_OUTPUT, errno,
                             "cannot write the exported profile to %s (try another -o)", name);
    bool ok = fwrite(bytes->data, 1, bytes->size, f) == bytes->size;
    int error = errno;
    if ((to_stdout ? fflush(f) : fclose(f)) != 0 && ok) {
        error = errno;
        ok = false;
    }
    if (!ok)
        return err_set_errno(e, ERR_OUTPUT, error,
                             "cannot write the exported profile to %s: what is there now is "
                             "incomplete",
                             name);
    return true;
}

static const char *output_path(const struct arguments *a)
{
    if (a->output)
        return strcmp(a->output, "-") == 0 ? NULL : a->output;
    return formats[a->format].binary_output && isatty(STDOUT_FILENO)
               ? formats[a->format].binary_output
               : NULL;
}

static bool is_of_image(const struct arguments *a)
{
    return formats[a->format].kind == EXPORT_OF_IMAGE;
}

/* What is counted of code belongs to no thread, phase or time. */
static bool check(const struct arguments *a, struct err *e)
{
    const char *vain = a->phase             ? "--phase"
                       : a->time            ? "--time"
                       : a->metric          ? "--metric"
                       : a->options.threads ? "--threads" : NULL;
    if (is_of_image(a) && vain)
        return err_set(e, ERR_USAGE,
                       "--format %s is of all that was observed, so %s has no meaning",
                       formats[a->format].name, vain);
    if (!is_of_image(a) && a->options.image)
        return err_set(e, ERR_USAGE, "--image is for formats of one program or library, and %s is "
                       "of all", formats[a->format].name);
    return true;
}

static void remark(const struct arguments *a, const struct export_result *result, const char *path)
{
    const char *text = (const char *)result->remarks.data, *end;
    size_t left = buf_ok(&result->remarks) ? result->remarks.size : 0;
    while (left && (end = memchr(text, '\n', left))) {
        fprintf(stderr, "penumbra export: %.*s\n", (int)(end - text), text);
        left -= (size_t)(end + 1 - text);
        text = end + 1;
    }
    if (result->shortened)
        fprintf(stderr,
                "penumbra export: %" PRIu64 " stacks are deeper than %" PRIu32 " frames; "
                "their middles were left out (--max-depth)\n",
                result->shortened, a->options.max_depth);
    if (result->untimed)
        fprintf(stderr,
                "penumbra export: when %" PRIu64 " of %" PRIu64 " samples fell is not known: "
                "they have made-up times (docs/exports.md)\n",
                result->untimed, result->samples);
    if (result->unsaid)
        fprintf(stderr,
                "penumbra export: %" PRIu64 " samples were dropped, which the format cannot say\n",
                result->unsaid);
    if (path && !a->output)
        fprintf(stderr, "penumbra export: wrote %s\n", path);
}

static bool export_profile(const struct arguments *a, const struct profile *p,
                           const struct symbols *s, struct err *e)
{
    struct buf bytes = {0};
    struct export_result result = {0};
    const char *path = output_path(a);
    bool ok = formats[a->format].run(p, s, &a->options, &bytes, &result, e) &&
              write_bytes(&bytes, path, e);
    buf_free(&bytes);
    if (ok && s)
        fputs(symbols_warnings(s), stderr);
    if (ok)
        remark(a, &result, path);
    if (ok && !result.samples)
        fprintf(stderr, "penumbra export: %s has no samples%s: what was written is empty\n",
                a->input,
                is_of_image(a)     ? " of this program or library"
                : observed_code(p) ? ", calls or blocks (record --tool calls, blocks or edges "
                                     "counts some)"
                                   : "");
    buf_free(&result.remarks);
    return ok;
}

static struct profile *read_profile(struct arguments *a, struct err *e)
{
    bool apart = a->options.threads || a->phase || a->time;
    struct profile *p = open_profile_by(a->input, a->observation, &a->metric,
                                        apart ? PROFILE_APART : formats[a->format].summing,
                                        command_progress(), e);
    if (p && ((a->phase && !profile_keep_phase(p, a->phase, e)) ||
              !time_range_keep(p, a->time, a->metric, e))) {
        profile_free(p);
        return NULL;
    }
    if (p && a->metric)
        profile_metric_first(p, profile_metric_find(p, a->metric));
    return p;
}

static bool export_of_all(const struct arguments *a, struct profile *p, struct err *e)
{
    const struct symbols_options names = {.detail = a->quick ? SYMBOLS_QUICK : SYMBOLS_LINES};
    bool ok = blocks_from_edges(p, &names, e) && profile_blocks_as_samples(p, e);
    struct symbols *s = ok ? symbols_load_with(p, &names, e) : NULL;
    ok = s && export_profile(a, p, s, e);
    if (s)
        symbols_free(s);
    return ok;
}

int command_export(int argc, char **argv)
{
    struct err e = {0};
    struct arguments a = {.input = PROFILE_DEFAULT, .options.max_depth = EXPORT_DEFAULT_MAX_DEPTH};
    int first, status;
    if (!options_take(&options, argc, argv, &a, &first, &status))
        return status;
    if (!take_arguments(&a, argc - first, argv + first, &e) || !check(&a, &e))
        return command_fail("export", &e);
    if (!output_is_apart(output_path(&a), a.input, &e))
        return command_fail("export", &e);
    struct profile *p = read_profile(&a, &e);
    bool ok = p && (is_of_image(&a) ? export_profile(&a, p, NULL, &e) : export_of_all(&a, p, &e));
    if (p)
        profile_free(p);
    return ok ? 0 : command_fail("export", &e);
}
