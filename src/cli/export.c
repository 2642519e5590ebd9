#include "cli/command.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/open_profile.h"
#include "cli/time_range.h"
#include "export/export.h"
#include "profile/block_tree.h"
#include "profile/phases.h"
#include "report/from_edges.h"

struct format {
    const char *name;
    export_function *run;
    const char *binary_output; /* default file name where the bytes do not suit a terminal */
    enum profile_summing summing; /* which threads it does not tell apart, unless it is asked for that */
};

static const struct format formats[] = {
    {"pprof", export_pprof, "penumbra.pb.gz", PROFILE_APART},
    {"folded", export_folded, NULL, PROFILE_SUMMED_BY_NAME},
    {"callgrind", export_callgrind, NULL, PROFILE_SUMMED},
};

struct arguments {
    const char *input;
    const char *output; /* NULL: not given */
    const struct format *format;
    struct export_options options;
    const char *phase; /* NULL: all of them */
    const char *time;  /* NULL: all of it */
    const char *metric; /* NULL: the first; pprof has all */
    bool quick;
    bool help;
};

enum { DEFAULT_MAX_DEPTH = 2048 };

static const char usage[] =
    "Usage: penumbra export [options] [FILE]\n"
    "Writes a recorded profile (penumbra.pnb by default) in another tool's format.\n"
    "\n"
    "  -f, --format FORMAT   pprof (default), folded or callgrind\n"
    "  -o, --output FILE     where to write; - is standard output (default; pprof writes to\n"
    "                        penumbra.pb.gz if standard output is a terminal)\n"
    "      --threads         folded: begin stacks with THREAD-PID/TID, not the process's name\n"
    "      --max-depth N     folded, pprof: show at most N frames of a stack, half of them\n"
    "                        outermost, half innermost; 0 is no limit (default 2048)\n"
    "      --metric NAME     folded, callgrind: this metric instead of the first; pprof: with\n"
    "                        this one as the default of all\n"
    "      --phase NAME      only samples in this phase, and in phases nested in it\n"
    "      --time FROM..TO   only this part of the time, in seconds since the start (2.5..4) or in\n"
    "                        percent (50%..100%), as exactly as docs/timeline.md says\n"
    "      --quick           names from symbol tables only: no lines, no inlined functions\n"
    "  -h, --help            this text\n";

static const struct format *format_find(const char *name, struct err *e)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    err_set(e, ERR_USAGE, "there is no format '%s'; there are pprof, folded and callgrind", name);
    return NULL;
}

static bool parse_depth(const char *text, uint32_t *depth, struct err *e)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || value > UINT32_MAX || value == 1)
        return err_set(e, ERR_USAGE, "--max-depth wants a number of frames, 2 or more, or 0 for no "
                       "limit, not '%s'", text);
    *depth = (uint32_t)value;
    return true;
}

static bool parse(int argc, char **argv, struct arguments *a, struct err *e)
{
    enum { OPTION_THREADS = 256, OPTION_MAX_DEPTH, OPTION_QUICK, OPTION_PHASE, OPTION_TIME, OPTION_METRIC };
    static const struct option options[] = {
        {"format", required_argument, NULL, 'f'},
        {"output", required_argument, NULL, 'o'},
        {"threads", no_argument, NULL, OPTION_THREADS},
        {"max-depth", required_argument, NULL, OPTION_MAX_DEPTH},
        {"quick", no_argument, NULL, OPTION_QUICK},
        {"phase", required_argument, NULL, OPTION_PHASE},
        {"time", required_argument, NULL, OPTION_TIME},
        {"metric", required_argument, NULL, OPTION_METRIC},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    *a = (struct arguments){.input = "penumbra.pnb", .format = &formats[0],
                            .options.max_depth = DEFAULT_MAX_DEPTH};
    opterr = 0;
    optind = 0;
    for (int c; (c = getopt_long(argc, argv, ":f:o:h", options, NULL)) != -1;) {
        if (c == 'f' && !(a->format = format_find(optarg, e)))
            return false;
        if (c == 'o')
            a->output = optarg;
        if (c == 'h')
            a->help = true;
        if (c == OPTION_THREADS)
            a->options.threads = true;
        if (c == OPTION_QUICK)
            a->quick = true;
        if (c == OPTION_PHASE)
            a->phase = optarg;
        if (c == OPTION_TIME)
            a->time = optarg;
        if (c == OPTION_METRIC)
            a->metric = optarg;
        if (c == OPTION_MAX_DEPTH && !parse_depth(optarg, &a->options.max_depth, e))
            return false;
        if (c == ':')
            return err_set(e, ERR_USAGE, "%s wants a value; try penumbra export --help",
                           argv[optind - 1]);
        if (c == '?')
            return err_set(e, ERR_USAGE, "there is no option '%s'; try penumbra export --help",
                           argv[optind - 1]);
    }
    if (argc - optind > 1)
        return err_set(e, ERR_USAGE, "one profile at a time, but '%s' follows '%s'",
                       argv[optind + 1], argv[optind]);
    if (optind < argc)
        a->input = argv[optind];
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
                             "incomplete", name);
    return true;
}

static const char *output_path(const struct arguments *a)
{
    if (a->output)
        return strcmp(a->output, "-") == 0 ? NULL : a->output;
    return a->format->binary_output && isatty(STDOUT_FILENO) ? a->format->binary_output : NULL;
}

static bool export_profile(const struct arguments *a, const struct profile *p,
                           const struct symbols *s, struct err *e)
{
    struct buf bytes = {0};
    struct export_result result;
    const char *path = output_path(a);
    bool ok = a->format->run(p, s, &a->options, &bytes, &result, e) &&
              write_bytes(&bytes, path, e);
    buf_free(&bytes);
    if (!ok)
        return false;
    fputs(symbols_warnings(s), stderr);
    if (result.shortened)
        fprintf(stderr, "penumbra export: %" PRIu64 " stacks are deeper than %" PRIu32 " frames; "
                "their middles were left out (--max-depth)\n", result.shortened,
                a->options.max_depth);
    if (!result.samples)
        fprintf(stderr, "penumbra export: %s has no samples%s: what was written is empty\n", a->input,
                p->counts ? ", calls or blocks (record --tool calls, blocks or edges counts some)" : "");
    if (path && !a->output)
        fprintf(stderr, "penumbra export: wrote %s\n", path);
    return true;
}

int command_export(int argc, char **argv)
{
    struct err e = {0};
    struct arguments a;
    if (!parse(argc, argv, &a, &e))
        return command_fail("export", &e);
    if (a.help) {
        fputs(usage, stdout);
        return 0;
    }
    if (!output_is_apart(output_path(&a), a.input, &e))
        return command_fail("export", &e);
    bool apart = a.options.threads || a.phase || a.time;
    struct profile *p = open_profile_by(a.input, &a.metric, apart ? PROFILE_APART : a.format->summing, &e);
    if (p && ((a.phase && !profile_keep_phase(p, a.phase, &e)) || !time_range_keep(p, a.time, a.metric, &e))) {
        profile_free(p);
        p = NULL;
    }
    if (p && a.metric)
        profile_metric_first(p, profile_metric_find(p, a.metric));
    const struct symbols_options names = {.detail = a.quick ? SYMBOLS_QUICK : SYMBOLS_LINES};
    bool ok = p && blocks_from_edges(p, &names, &e) && profile_blocks_as_samples(p, &e);
    struct symbols *s = ok ? symbols_load_with(p, &names, &e) : NULL;
    ok = s && export_profile(&a, p, s, &e);
    if (s)
        symbols_free(s);
    if (p)
        profile_free(p);
    return ok ? 0 : command_fail("export", &e);
}
