#include "cli/record_options.h"

#include <getopt.h>
#include <string.h>

#include "base/numbers.h"
#include "base/suggest.h"
#include "sigsafe/tools.h"

enum { BUDGET_FORKS_PPM = 10000 };
enum { RATE_DEFAULT = 997, RATE_SHADOW = 199, RATE_MAX = 100000, DEPTH_DEFAULT = 131072, DEPTH_MAX = 1000000 };

/* Values of options without a letter. */
enum { OPT_BUDGET = 256, OPT_DURATION, OPT_NO_FOLLOW, OPT_NO_RANDOMIZE, OPT_MAX_DEPTH, OPT_MAX_CONTEXTS, OPT_FOLD_RECURSION, OPT_SPOOL,
       OPT_WAIT_ALL, OPT_EXACT, OPT_CARRIER, OPT_TOOL, OPT_LENGTH, OPT_BASELINE,
       OPT_SKIP, OPT_NO_TRAMPOLINE, OPT_MODULE, OPT_EVERY, OPT_SUMMARY, OPT_BY_SITE, OPT_REDACT,
       OPT_SAMPLE_SIZE, OPT_LOAD, OPT_SKIP_SHARED, OPT_CODE_CACHE, OPT_LOG_INPUT, OPT_THREADS,
       OPT_BARRIER, OPT_SEED, OPT_HELP_ALL, OPT_NO_NAMES, OPT_ARM_SANDBOXES, OPT_VERIFY_COST,
       OPT_NO_TIMELINE };

static const struct row {
    int value;            /* the letter, or OPT_* */
    const char *name;     /* of the long form */
    const char *argument; /* NULL: takes none */
    const char *help;
    const char *brief;    /* what --help says; NULL: only --help-all lists it */
} rows[] = {
    {'o', "output", "FILE", "write the profile to FILE (default penumbra.pnb); DIR/: to a file of\n"
                            "its own in DIR, named after the rank or the process",
     "write the profile to FILE (default penumbra.pnb), or into DIR/"},
    {'p', "pid", "PID", "attach to process PID instead, until it ends, --duration is over, or Ctrl-C",
     "attach to process PID instead of starting a program"},
    {'e', "event", "EVENT", "what to sample, see below (default cpu); several, each with a period\n"
                            "of its own: -e cpu -e page-faults -e malloc=64k, or with commas",
     "what to sample: see below (default cpu); may be given several times"},
    {'F', "frequency", "HZ", "samples a second of a thread's time, 1 to 100000 (default 997)",
     "samples a second of a thread's time (default 997)"},
    {'c', "period", "PERIOD", "instead of -F: one sample every PERIOD events (suffixes k, M, G), or\n"
                              "of time (ns, us, ms, s; bare numbers are ns); -e EVENT=PERIOD is\n"
                              "the same, for one of several",
     "instead of -F: one sample every PERIOD events, bytes or ns"},
    {OPT_BUDGET, "budget", "PERCENT", "spend at most this share of the program's CPU time (default: 2\n"
                                 "with -e cpu and neither -F nor -c; 5 with -e malloc, read, write,\n"
                                 "lock-wait; 1 with the carriers auto, and shadow without --load)",
     "spend at most this share of the program's CPU time"},
    {OPT_DURATION, "duration", "TIME", "record the first TIME only (10, 1.5, 500ms, 2m), then let the\n"
                                       "program go on",
     "record the first TIME only (10, 500ms, 2m)"},
    {OPT_WAIT_ALL, "wait-all", NULL, "go on until every descendant has ended, not only PROGRAM",
     "go on until every descendant has ended"},
    {OPT_NO_FOLLOW, "no-follow", NULL, "leave out forked children and exec'ed programs",
     "leave out forked children and exec'ed programs"},
    {OPT_NO_RANDOMIZE, "no-randomize", NULL, "keep the period constant", NULL},
    {OPT_MAX_DEPTH, "max-depth", "N", "keep at most N frames of a stack (default 131072)", NULL},
    {OPT_MAX_CONTEXTS, "max-contexts", "N",
     "with --tool calls: fold cold contexts into their parents whenever a\n"
     "thread's tree has N nodes (default 1M, of 32 bytes)", NULL},
    {OPT_FOLD_RECURSION, "fold-recursion", NULL, "with --tool calls: no new context for a function that is active already", NULL},
    {OPT_NO_TRAMPOLINE, "no-trampoline", NULL, "do not count calls: leave every return address alone", NULL},
    {OPT_VERIFY_COST, "verify-cost", NULL,
     "run two unrecorded copies of PROGRAM beside it, without output, and\n"
     "say what the recording costs", NULL},
    {OPT_ARM_SANDBOXES, "arm-sandboxes", NULL, "on trial: sample threads and children that are made in a seccomp\n"
                                               "sandbox, by events that are set from outside", NULL},
    {OPT_NO_NAMES, "no-names", NULL, "keep no names of functions and lines in the profile", NULL},
    {OPT_NO_TIMELINE, "no-timeline", NULL, "do not keep when samples fell: up to 64 kB less a thread", NULL},
    {OPT_SPOOL, "spool", "DIR", "put the temporary counters into DIR (default /dev/shm, else beside\n"
                                "FILE)", NULL},
    {OPT_EXACT, "exact", NULL, "observe the whole run under the engine instead of samples; the same\n"
                               "as --carrier exact",
     "observe every instruction of the whole run"},
    {OPT_CARRIER, "carrier", "CARRIER", "where observed code runs: handler (default), burst, shadow,\n"
                                    "exact; auto: shadows, or bursts where forks cost too much",
     "where observed code runs: handler (default), burst, shadow,\nexact, or auto"},
    {OPT_TOOL, "tool", "TOOL", "what is observed: see below (default stacks; blocks under the\n"
     "engine); several, with commas between, observe in one run",
     "what is observed: see below (default stacks; blocks under the\nengine); several, with commas between, observe in one run"},
    {OPT_LENGTH, "length", "N", "instructions of a burst (default 1000; with --tool values 4);\n"
                          "LEAST..MOST: a number between the two, drawn for each burst", NULL},
    {OPT_SKIP, "skip", "S", "with --tool values: skip up to S instructions, drawn at random,\n"
                            "before observing (default 2000): against the bias of interrupts", NULL},
    {OPT_SAMPLE_SIZE, "sample-size", "N", "instructions of a shadow (default 10M; with a budget 100M,\n"
                                      "or 1M for --tool values, and then parts of what follows\n"
                                      "until the next shadow is due)", NULL},
    {OPT_LOAD, "load", "L", "shadows active on average, at any cost within --budget\n"
                             "(default 1, as far as a budget of 1% allows)", NULL},
    {OPT_SKIP_SHARED, "skip-shared-writes", NULL, "a shadow skips instructions that would write to\n"
                                                  "shared memory, instead of ending there", NULL},
    {OPT_CODE_CACHE, "code-cache", "ON|OFF", "whether shadows share translated code (default on)", NULL},
    {OPT_LOG_INPUT, "log-input", NULL, "log the program's input from pipes, sockets and the like,\n"
                                       "and replay it: shadows run past reads and waits", NULL},
    {OPT_THREADS, "threads", "WHICH", "one: a shadow has the interrupted thread alone; all: all\n"
                                      "threads of the program, in turns; auto (default): all within\n"
                                      "a budget, where several run, or where one waited for another", NULL},
    {OPT_BARRIER, "barrier-timeout", "TIME", "with --threads all and auto: how long to wait for all threads\n"
                                             "to stop before a shadow is made (default 20ms)", NULL},
    {OPT_SEED, "seed", "N", "with --threads all and auto: seed of the order of turns\n"
                            "(default 0)", NULL},
    {OPT_BASELINE, "baseline", "TIME", "with --exact: the CPU time that PROGRAM takes natively, for the\n"
                                       "report's slowdown", NULL},
    {OPT_MODULE, "module", "FILE.so", "observe and keep what this module asks for\n"
                                      "(penumbra/module.h); --tool values, latency and conflicts\n"
                                      "are built-in modules", NULL},
    {OPT_EVERY, "every", "K", "observe values at one of K samples (default 2, or the module's\n"
                             "choice; fewer where that would cost more than 0.7% of CPU time)", NULL},
    {OPT_BY_SITE, "by-site", NULL, "keep values apart by the call site of their function", NULL},
    {OPT_SUMMARY, "summary", "HOW", "keep the most frequent values by concise sampling (default) or in\n"
                                    "top-N-value tables (tnv)", NULL},
    {OPT_REDACT, "redact", NULL, "keep no value, only how often it repeats; of an address only its\n"
                                 "place in an image, or its kind of memory", NULL},
    {'q', "quiet", NULL, "no live line, no summary: errors only",
     "errors only"},
    {'h', "help", NULL, "the options that are used most", "this text"},
    {OPT_HELP_ALL, "help-all", NULL, "this text", "all options, and what each event and tool is"},
};
enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

static void help_row(FILE *to, const struct row *row, const char *text)
{
    char left[40];
    if (row->value < 256)
        snprintf(left, sizeof left, "-%c, --%s %s", row->value, row->name, row->argument ? row->argument : "");
    else
        snprintf(left, sizeof left, "    --%s %s", row->name, row->argument ? row->argument : "");
    fprintf(to, "  %-24s ", left);
    for (const char *p = text; *p; p++)
        if (*p == '\n')
            fprintf(to, "\n%27s", "");
        else
            fputc(*p, to);
    fputc('\n', to);
}

static const char help_usage[] = "Usage: penumbra record [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
                                 "       penumbra record [OPTIONS] -p PID\n\n"
                                 "Runs PROGRAM and records which calling contexts use its time.\n\n";

enum { HELP_COLUMNS = 96, HELP_FROM = 8 };

/* used: columns of the line. */
static void help_word(FILE *to, unsigned *used, const char *word)
{
    bool first = *used < HELP_FROM;
    if (*used + strlen(word) + 2 > HELP_COLUMNS) {
        fprintf(to, ",\n%*s", HELP_FROM - 1, "");
        *used = HELP_FROM - 1;
        first = true;
    }
    *used += (unsigned)fprintf(to, "%s %s", first ? "" : ",", word);
}

static void help_brief(FILE *to)
{
    fprintf(to, "%sOptions:\n", help_usage);
    for (unsigned i = 0; i < ROW_COUNT; i++)
        if (rows[i].brief)
            help_row(to, &rows[i], rows[i].brief);
    fputs("\nEvents:", to);
    unsigned used = HELP_FROM - 1;
    for (unsigned i = 0; events_row(i); i++) {
        const char *name = events_row(i)->name;
        help_word(to, &used, name);
    }
    fputs("\nTools: ", to);
    used = HELP_FROM - 1;
    for (unsigned i = 0; i < TOOL_KIND_COUNT; i++)
        if (!tool_about(i)->measuring)
            help_word(to, &used, tool_about(i)->name);
    fputc('\n', to);
}

static void help_full(FILE *to)
{
    fprintf(to, "%sOptions:\n", help_usage);
    for (unsigned i = 0; i < ROW_COUNT; i++)
        help_row(to, &rows[i], rows[i].help);
    fprintf(to, "\nEvents:\n");
    for (unsigned i = 0; events_row(i); i++) {
        const struct event *event = events_row(i);
        fprintf(to, "  %-24s %s", event->name, event->summary);
        if (event->period)
            fprintf(to, " (every %lu)", (unsigned long)event->period);
        fputc('\n', to);
    }
    fputs("\nTools:\n", to);
    for (unsigned i = 0; i < TOOL_KIND_COUNT; i++)
        fprintf(to, "  %-24s %s%s\n", tool_about(i)->name, tool_about(i)->sentence,
                tool_about(i)->carriers == TOOL_EXACT ? " (--exact only)" :
                i == tool_default(1u << CARRIER_HANDLER) ? " (the default)" : "");
    fprintf(to,
            "\nThe exit status is PROGRAM's own, and if it dies by a signal, so does penumbra.\n"
            "Errors before PROGRAM starts have a status of 118 to 127: see the manual page.\n");
}

void record_options_help(const struct record_options *o, FILE *to)
{
    if (o->help_all)
        help_full(to);
    else
        help_brief(to);
}

static bool unknown_option(const char *typed, struct err *e)
{
    if (typed[0] != '-' || typed[1] != '-')
        return err_set(e, ERR_USAGE, "there is no option %s; see penumbra record --help", typed);
    char name[64];
    size_t length = strcspn(typed + 2, "=");
    snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), typed + 2);
    struct suggest s = {0};
    for (unsigned i = 0; i < ROW_COUNT; i++)
        suggest_offer(&s, name, rows[i].name);
    if (s.best)
        return err_set(e, ERR_USAGE, "there is no option --%s; did you mean --%s?", name, s.best);
    return err_set(e, ERR_USAGE, "there is no option --%s; see penumbra record --help", name);
}

/* getopt's two answers to a bad option: ':' for a missing argument, '?' for all else. */
static bool bad_option(int answer, char **argv, struct err *e)
{
    char letter[3] = {'-', 0, 0};
    const char *typed = argv[optind - 1];
    if (optopt > 0 && optopt < 256) {
        letter[1] = (char)optopt;
        typed = letter;
    }
    if (answer == ':')
        return err_set(e, ERR_USAGE, "%s needs an argument; see penumbra record --help", typed);
    return unknown_option(typed, e);
}

static bool take_number(struct record_options *o, int option, const char *text, struct err *e)
{
    double value;
    switch (option) {
    case OPT_LENGTH: return record_engine_length(&o->engine, text, e);
    case OPT_SKIP: return record_engine_skip(&o->engine, text, e);
    case OPT_SAMPLE_SIZE: return record_engine_sample_size(&o->engine, text, e);
    case OPT_LOAD: return record_engine_load(&o->engine, text, e);
    case OPT_BARRIER: return record_engine_barrier(&o->engine, text, e);
    case OPT_MAX_CONTEXTS: return record_engine_contexts(&o->engine, text, e);
    case OPT_SEED: return record_engine_seed(&o->engine, text, e);
    case OPT_BASELINE: return record_engine_baseline(&o->engine, text, e);
    case OPT_EVERY: return record_values_every(&o->values, text, e);
    case 'F':
        o->events.frequency_given = true;
        if (!number_parse(text, number_counts, 1, RATE_MAX, "the rate (-F)", &value, e))
            return false;
        o->events.frequency = (uint64_t)value;
        return true;
    case OPT_BUDGET:
        if (!number_parse(text, number_percent, 0.001, 100, "the budget in percent (--budget)",
                          &value, e))
            return false;
        o->budget_ppm = (uint32_t)(value * 10000 + 0.5);
        return true;
    case 'p':
        if (!number_parse(text, number_counts, 1, 1 << 22, "the process (-p)", &value, e))
            return false;
        o->pid = (int)value;
        return true;
    case OPT_DURATION:
        if (!number_parse(text, number_durations, 1e6, 1e18,
                          "the duration in seconds (--duration)", &value, e))
            return false;
        o->duration_ns = (uint64_t)value;
        return true;
    default:
        if (!number_parse(text, number_counts, SPOOL_DEPTH_LEAST, DEPTH_MAX, "the depth (--max-depth)", &value, e))
            return false;
        o->max_depth = (uint32_t)value;
        return true;
    }
}

static bool code_cache(struct record_options *o, const char *text, struct err *e)
{
    if (strcmp(text, "on") != 0 && strcmp(text, "off") != 0)
        return err_set(e, ERR_USAGE, "the code cache (--code-cache) is on or off, not \"%s\"", text);
    if (strcmp(text, "off") == 0)
        o->engine.shadow_flags |= SHADOW_COLD;
    return true;
}

static bool take_option(struct record_options *o, int option, struct err *e)
{
    switch (option) {
    case 'o':
        o->output = optarg;
        if (!*optarg)
            return err_set(e, ERR_USAGE, "the output (-o) needs a file name, not an empty one");
        return true;
    case 'e':
        return record_events_add(&o->events, optarg, e);
    case 'c': o->events.period_text = optarg; return true;
    case OPT_NO_FOLLOW: o->follow = false; return true;
    case OPT_NO_RANDOMIZE: o->randomize = false; return true;
    case OPT_NO_TRAMPOLINE: o->trampoline = false; return true;
    case OPT_NO_TIMELINE: o->timeline = false; return true;
    case OPT_NO_NAMES: o->names = false; return true;
    case OPT_ARM_SANDBOXES: o->arm_sandboxes = true; return true;
    case OPT_VERIFY_COST: o->verify_cost = true; return true;
    case OPT_WAIT_ALL: o->wait_all = true; return true;
    case OPT_EXACT: o->engine.carrier = CARRIER_EXACT; return true;
    case OPT_CARRIER: return record_engine_carrier(&o->engine, optarg, e);
    case OPT_TOOL: return record_engine_tool(&o->engine, optarg, e);
    case OPT_MODULE: o->values.file = optarg; return true;
    case OPT_SUMMARY: return record_values_summary(&o->values, optarg, e);
    case OPT_BY_SITE: o->values.by_site = true; return true;
    case OPT_REDACT: o->values.redact = true; return true;
    case OPT_FOLD_RECURSION: o->engine.fold_recursion = true; return true;
    case OPT_LOG_INPUT: o->engine.shadow_flags |= SHADOW_LOG_INPUT; return true;
    case OPT_SKIP_SHARED: o->engine.shadow_flags |= SHADOW_SKIP_SHARED; return true;
    case OPT_THREADS: return record_engine_threads(&o->engine, optarg, e);
    case OPT_CODE_CACHE: return code_cache(o, optarg, e);
    case OPT_SPOOL: o->spool_dir = optarg; return true;
    case 'q': o->quiet = true; return true;
    case 'h': o->help = true; return true;
    case OPT_HELP_ALL: o->help = o->help_all = true; return true;
    default: return take_number(o, option, optarg, e);
    }
}

/* Bursts and shadows begin at the samples of one event. */
static bool settle_events(struct record_options *o, struct err *e)
{
    bool shadows = o->engine.carrier == CARRIER_SHADOW || o->engine.carrier == CARRIER_AUTO;
    if (!record_events_settle(&o->events, shadows ? RATE_SHADOW : RATE_DEFAULT, e))
        return false;
    if (o->events.count > 1 && o->engine.carrier != CARRIER_HANDLER)
        return err_set(e, ERR_USAGE,
                       "bursts and shadows begin at the samples of one event; give one of -e %s and "
                       "-e %s, or record call paths (without --carrier, --tool and --module)",
                       o->events.list[0].event->name, o->events.list[1].event->name);
    return true;
}

/* The family of interposed functions that the recording needs. */
const char *record_options_family(const struct record_options *o)
{
    return o->engine.shadow_flags & SHADOW_LOG_INPUT ? "io" : record_events_family(&o->events);
}

/* Copies are compared with the whole program: from its start to its end. */
static bool verify_settle(const struct record_options *o, struct err *e)
{
    const char *with = o->pid           ? "-p"
                       : o->duration_ns ? "--duration"
                       : o->wait_all    ? "--wait-all"
                                        : NULL;
    if (!o->verify_cost || !with)
        return true;
    return err_set(e, ERR_USAGE,
                   "--verify-cost compares whole runs of a program, so it excludes %s", with);
}

static bool family_settle(const struct record_options *o, struct err *e)
{
    const char *family = record_events_family(&o->events), *needed = record_options_family(o);
    const char *event = record_events_calls(&o->events);
    if (family && strcmp(family, needed) != 0)
        return err_set(e, ERR_USAGE, "-e %s and --log-input both interpose the program's calls; leave out one "
                       "of the two", event);
    /* What a process has bound already does not become ours. */
    if (o->pid && needed)
        return err_set(e, ERR_USAGE, "%s%s needs libpenumbra-rt.so from the program's start on; start it with "
                       "penumbra record", event ? "-e " : "--log-input", event ? event : "");
    return true;
}

/* The first option given that is about samples. */
static const char *sampling_option(const struct record_options *o)
{
    return o->events.given             ? "-e"
           : o->events.frequency_given ? "-F"
           : o->events.period_text     ? "-c"
           : o->budget_ppm             ? "--budget"
                                       : NULL;
}

static void make_getopt_tables(struct option *longs, char *shorts)
{
    /* '+': stop at the program's name; ':': tell a missing argument from an unknown option. */
    *shorts++ = '+';
    *shorts++ = ':';
    for (unsigned i = 0; i < ROW_COUNT; i++) {
        longs[i] = (struct option){rows[i].name,
                                   rows[i].argument ? required_argument : no_argument, NULL,
                                   rows[i].value};
        if (rows[i].value >= 256)
            continue;
        *shorts++ = (char)rows[i].value;
        if (rows[i].argument)
            *shorts++ = ':';
    }
    *shorts = '\0';
    longs[ROW_COUNT] = (struct option){0};
}

bool record_options_parse(struct record_options *o, int argc, char **argv, struct err *e)
{
    struct option longs[ROW_COUNT + 1];
    char shorts[2 * ROW_COUNT + 3];
    make_getopt_tables(longs, shorts);
    *o = (struct record_options){.max_depth = DEPTH_DEFAULT,
                                 .follow = true,
                                 .randomize = true,
                                 .trampoline = true,
                                 .timeline = true,
                                 .names = true};
    opterr = 0;
    optind = 0; /* glibc: begin anew, whatever was parsed before */
    int option;
    while ((option = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        if (option == '?' || option == ':')
            return bad_option(option, argv, e);
        if (!take_option(o, option, e))
            return false;
        if (o->help)
            return true;
    }
    o->program = argv + optind;
    if (o->pid && *o->program)
        return err_set(e, ERR_USAGE, "either a process (-p %d) or a program to start (%s), not both",
                       o->pid, *o->program);
    if (!o->pid && (!*o->program || !**o->program))
        return err_set(e, ERR_USAGE, "no program to run: penumbra record [OPTIONS] -- PROGRAM "
                                     "ARGUMENTS; see penumbra record --help");
    if (!o->budget_ppm && (o->engine.carrier == CARRIER_AUTO || (o->engine.carrier == CARRIER_SHADOW && !o->engine.load_milli)))
        o->budget_ppm = BUDGET_FORKS_PPM;
    o->engine.budgeted = o->budget_ppm != 0;
    return record_values_settle(&o->values, &o->engine, e) &&
           record_engine_settle(&o->engine, o->pid, sampling_option(o), e) && settle_events(o, e) &&
           family_settle(o, e) && verify_settle(o, e);
}
