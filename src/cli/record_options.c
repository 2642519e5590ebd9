#include "cli/record_options.h"

#include <string.h>

#include "base/suggest.h"
#include "cli/options.h"
#include "collector/events.h"
#include "profile/counts.h"
#include "sigsafe/settings.h"
#include "sigsafe/spool_inst.h"
#include "sigsafe/tools.h"

/* ---- values ---- */

static const char *event_word(unsigned index)
{
    const struct event *event = events_row(index);
    return event ? event->name : NULL;
}

static const char *carrier_word(unsigned index)
{
    return index < CARRIER_KIND_COUNT ? profile_carrier_name(index) : NULL;
}

static const char *switch_word(unsigned index)
{
    return index == 0 ? "on" : index == 1 ? "off" : NULL;
}

static const char *threads_word(unsigned index)
{
    return index < 3 ? (const char *[]){"auto", "one", "all"}[index] : NULL;
}

/* By enum hotlist_kind. */
static const char *summary_word(unsigned index)
{
    return index == HOTLIST_CONCISE ? "concise" : index == HOTLIST_TNV ? "tnv" : NULL;
}

static bool take_event(void *options, const char *value, struct err *e)
{
    struct record_options *o = options;
    return record_events_add(&o->recording.events, value, e);
}

static bool take_exact(void *options, const char *value, struct err *e)
{
    struct record_options *o = options;
    (void)value;
    (void)e;
    o->recording.engine.carrier = CARRIER_EXACT;
    return true;
}

static bool take_carrier(void *options, const char *value, struct err *e)
{
    struct record_options *o = options;
    return suggest_word("carrier (--carrier)", value, carrier_word, &o->recording.engine.carrier,
                        e);
}

static bool take_tool(void *options, const char *value, struct err *e)
{
    struct record_options *o = options;
    return record_engine_tool(&o->recording.engine, value, e);
}

static bool take_length(void *options, const char *value, struct err *e)
{
    struct record_options *o = options;
    return record_engine_length(&o->recording.engine, value, e);
}

/* Of samples, or of productions. */
static bool take_frequency(void *options, const char *value, struct err *e)
{
    struct record_options *o = options;
    double number;
    if (strchr(value, '/')) {
        o->recording.productions.frequency = value;
        return true;
    }
    o->recording.events.frequency_given = true;
    if (!number_parse(value, number_counts, 1, RECORDING_RATE_MOST, "the rate (-F)", &number, e))
        return false;
    o->recording.events.frequency = (uint64_t)(number + 0.5);
    return true;
}

static bool take_production(void *options, const char *value, struct err *e)
{
    struct record_options *o = options;
    return record_productions_add(&o->recording.productions, value, e);
}

static bool take_threads(void *options, const char *value, struct err *e)
{
    static const uint32_t flags[] = {SHADOW_THREADS_AUTO, 0, SHADOW_THREADS};
    struct record_options *o = options;
    struct record_engine *engine = &o->recording.engine;
    uint32_t which = 0;
    if (!suggest_word("choice of threads (--threads)", value, threads_word, &which, e))
        return false;
    engine->threads_given = true;
    engine->shadow_flags &= ~(uint32_t)(SHADOW_THREADS | SHADOW_THREADS_AUTO);
    engine->shadow_flags |= flags[which];
    return true;
}

static bool take_code_cache(void *options, const char *value, struct err *e)
{
    struct record_options *o = options;
    uint32_t which = 0;
    if (!suggest_word("choice of a code cache (--code-cache)", value, switch_word, &which, e))
        return false;
    if (which)
        o->recording.engine.shadow_flags |= SHADOW_COLD;
    else
        o->recording.engine.shadow_flags &= ~(uint32_t)SHADOW_COLD;
    return true;
}

/* ---- the table ---- */

static const struct option_row rows[] = {
    {'o', "output", "FILE",
     .help = "write the profile to FILE (default penumbra.pnb); DIR/: to a file of its own in "
             "DIR, named after the rank or the process",
     .brief = "write the profile to FILE (default penumbra.pnb), or into DIR/", .filled = true,
     FIELD(struct record_options, recording.output)},
    {'p', "pid", "PID",
     .help = "attach to process PID instead, until it ends, --duration is over, or Ctrl-C",
     .brief = "attach to process PID instead of starting a program",
     FIELD(struct record_options, recording.pid),
     NUMBER(number_counts, 1, 1 << 22, .what = "the process (-p)")},
    {'a', "all", NULL,
     .help = "sample the whole machine from outside: CPU time, waits (-e wall) or values (--tool "
             "values) of all processes and the kernel, until Ctrl-C, --duration, or the end of "
             "PROGRAM if there is one",
     .brief = "sample all processes and the kernel, from outside",
     FIELD(struct record_options, recording.machine.all)},
    {0, "external", NULL,
     .help = "sample PROGRAM, or -p PID, and all that they make, from outside: static, setuid or "
             "32-bit, with kernel functions",
     FIELD(struct record_options, recording.machine.external)},
    {0, "cgroup", "GROUP",
     .help = "sample what is in a control group from outside: its folder, or what follows "
             "/sys/fs/cgroup/",
     FIELD(struct record_options, recording.machine.cgroup)},
    {0, "uid", "USER",
     .help = "sample all processes of a user from outside: a name or a number",
     FIELD(struct record_options, recording.machine.user)},
    {'e', "event", "EVENT",
     .help = "what to sample, see below (default cpu); several, each with a period of its own: -e "
             "cpu -e page-faults -e malloc=64k, or with commas",
     .brief = "what to sample: see below (default cpu); may be given several times",
     .word = event_word, .take = take_event},
    {'F', "frequency", "HZ",
     .help = "samples a second of a thread's time, 1 to 100000 (default 997; by default at most "
             "2% of CPU time); A/B: with --production, the share of events that bursts have "
             "(default 1/1000)",
     .brief = "samples a second of a thread's time (default 997; by default at most 2% of CPU "
              "time)",
     .take = take_frequency},
    {'c', "period", "PERIOD",
     .help = "instead of -F: one sample every PERIOD events (suffixes k, M, G), or of time (ns, "
             "us, ms, s; bare numbers are ns); -e EVENT=PERIOD is the same, for one of several",
     .brief = "instead of -F: one sample every PERIOD events, bytes or ns",
     FIELD(struct record_options, recording.events.period_text)},
    {0, "budget", "PERCENT",
     .help = "spend at most this share of the program's CPU time (default: 2 with -e cpu and "
             "neither -F nor -c; 5 with -e malloc, read, write, lock-wait; 1 with the carriers "
             "auto, and shadow without --load)",
     .brief = "spend at most this share of the program's CPU time",
     FIELD(struct record_options, recording.budget_ppm),
     NUMBER(number_percent, 0.001, 100, .what = "the budget in percent (--budget)", .per = 1e-4)},
    {0, "duration", "TIME",
     .help = "record the first TIME only (10, 1.5, 500ms, 2m), then let the program go on",
     .brief = "record the first TIME only (10, 500ms, 2m)",
     FIELD(struct record_options, recording.duration_ns),
     NUMBER(number_durations, 1e6, 1e18, .what = "the duration in seconds (--duration)")},
    {0, "wait-all", NULL, .help = "go on until every descendant has ended, not only PROGRAM",
     .brief = "go on until every descendant has ended",
     FIELD(struct record_options, recording.wait_all)},
    {0, "no-follow", NULL, .help = "leave out forked children and exec'ed programs",
     .brief = "leave out forked children and exec'ed programs", .clears = true,
     FIELD(struct record_options, recording.follow)},
    {0, "no-randomize", NULL, .help = "keep the period constant", .clears = true,
     FIELD(struct record_options, recording.randomize)},
    {0, "max-depth", "N", .help = "keep at most N frames of a stack (default 131072)",
     FIELD(struct record_options, recording.max_depth),
     NUMBER(number_counts, SPOOL_DEPTH_LEAST, RECORDING_DEPTH_MOST,
            .what = "the depth (--max-depth)")},
    {0, "max-contexts", "N",
     .help = "with --tool calls: fold cold contexts into their parents whenever a thread's tree "
             "has N nodes (default 1M, of 32 bytes); beside waste only new contexts",
     FIELD(struct record_options, recording.engine.contexts),
     NUMBER(number_counts, ENGINE_CONTEXTS_LEAST, ENGINE_CONTEXTS_MOST,
            .what = "the nodes of a thread's tree (--max-contexts)")},
    {0, "fold-recursion", NULL,
     .help = "with --tool calls: no new context for a function that is active already",
     FIELD(struct record_options, recording.engine.fold_recursion)},
    {0, "kernel", NULL,
     .help = "add to each stack what it called in the kernel (root, or perf_event_paranoid at "
             "most 1)",
     .brief = "add kernel functions to stacks",
     FIELD(struct record_options, recording.kernel)},
    {0, "no-trampoline", NULL, .help = "do not count calls: leave every return address alone",
     .clears = true, FIELD(struct record_options, recording.trampoline)},
    {0, "verify-cost", NULL,
     .help = "run two unrecorded copies of PROGRAM beside it, without output, and say what the "
             "recording costs",
     FIELD(struct record_options, recording.verify_cost)},
    {0, "no-arm-sandboxes", NULL,
     .help = "no triggers set from outside, for threads and children that are made in a seccomp "
             "sandbox",
     .clears = true, FIELD(struct record_options, recording.arm_sandboxes)},
    {0, "no-names", NULL, .help = "keep no names of functions and lines in the profile",
     .clears = true, FIELD(struct record_options, recording.names)},
    {0, "no-timeline", NULL, .help = "do not keep when samples fell: up to 64 kB less a thread",
     .clears = true, FIELD(struct record_options, recording.timeline)},
    {0, "spool", "DIR",
     .help = "put the temporary counters into DIR (default /dev/shm, else beside FILE)",
     FIELD(struct record_options, recording.spool_dir)},
    {0, "exact", NULL,
     .help = "observe the whole run under the engine instead of samples; the same as --carrier "
             "exact",
     .brief = "observe every instruction of the whole run", .take = take_exact},
    {0, "carrier", "CARRIER",
     .help = "where observed code runs: handler (default), burst, shadow, exact; auto: shadows, "
             "or bursts where forks cost too much; compiled: in code that penumbra cc has put into "
             "the program",
     .brief = "where observed code runs: handler (default), burst, shadow, exact, auto, compiled",
     .word = carrier_word, .take = take_carrier},
    {0, "tool", "TOOL",
     .help = "what is observed: see below (default stacks; blocks under the engine); several, "
             "with commas between, observe in one run",
     .brief = "what is observed: see below (default stacks; blocks under the engine); several, "
             "with commas between, observe in one run",
     .word = record_engine_tool_word, .take = take_tool},
    {0, "interval", "N",
     .help = "with --carrier compiled: observe at one of N checks on average (default 1000; 1: "
             "all); --no-randomize: at every N-th; --seed: the same ones in each run",
     FIELD(struct record_options, recording.engine.interval),
     NUMBER(number_counts, 1, INST_INTERVAL_MOST, .what = "the interval (--interval)")},
    {0, "iterations", "N",
     .help = "with --carrier compiled: observe N checks in a row, N times as rarely: pairs of "
             "fields that are used in different iterations of a loop (default 1)",
     FIELD(struct record_options, recording.engine.iterations),
     NUMBER(number_counts, 1, INST_ITERATIONS_MOST,
            .what = "the iterations of a burst (--iterations)")},
    {0, "windows", "N",
     .help = "with --carrier compiled: execute checks that can be switched (penumbra cc --plugin "
             "check=switched) in windows of some ms, at random, that are one part of the time in N "
             "(default 1: always)",
     FIELD(struct record_options, recording.engine.windows),
     NUMBER(number_counts, 1, INST_WINDOWS_MOST, .what = "the part of the time (--windows)")},
    {0, "timer", "TIME",
     .help = "with --carrier compiled and check=switched: observe at the first check after each "
             "TIME, instead of at one of N: biased, to compare with",
     FIELD(struct record_options, recording.engine.timer_us),
     NUMBER(number_durations, 1e3 * INST_TIMER_LEAST_US, 1e3 * INST_TIMER_MOST_US,
            .what = "the time between bursts, 100us to 10s (--timer)", .per = 1e3)},
    {0, "length", "N",
     .help = "instructions of a burst (default 1000; with --tool values 4, with -a 32); "
             "LEAST..MOST: a number between the two, drawn for each burst",
     .take = take_length},
    {0, "skip", "S",
     .help = "with --tool values: skip up to S instructions, drawn at random, before observing "
             "(default 2000): against the bias of interrupts",
     FIELD(struct record_options, recording.engine.skip),
     GIVEN(struct record_options, recording.engine.skip_given),
     NUMBER(number_counts, 0, ENGINE_SKIP_MOST,
            .what = "the instructions before observing begins (--skip)")},
    {0, "sample-size", "N",
     .help = "instructions of a shadow (default 10M; with a budget 100M, or 1M for --tool values, "
             "and then parts of what follows until the next shadow is due)",
     FIELD(struct record_options, recording.engine.sample_size),
     NUMBER(number_counts, ENGINE_SAMPLE_LEAST, ENGINE_LENGTH_MOST,
            .what = "the instructions of a shadow (--sample-size)")},
    {0, "load", "L",
     .help = "shadows active on average, at any cost within --budget (default 1, as far as a "
             "budget of 1% allows)",
     FIELD(struct record_options, recording.engine.load_milli),
     NUMBER(number_counts, 0.001, ENGINE_LOAD_MOST, .what = "the active shadows (--load)",
            .per = 1e-3)},
    {0, "finish-shadows", "TIME",
     .help = "wait up to TIME after the end of PROGRAM for shadows to go on to where it ended: of "
             "short programs they see little otherwise; within a budget one shadow begins with "
             "PROGRAM, and for TIME/2 it is the only one",
     FIELD(struct record_options, recording.engine.finish_ns),
     NUMBER(number_durations, 1, 1e13,
            .what = "the time for shadows after the program's end (--finish-shadows)")},
    {0, "skip-shared-writes", NULL,
     .help = "a shadow skips instructions that would write to shared memory, instead of ending "
             "there",
     .bits = SHADOW_SKIP_SHARED, FIELD(struct record_options, recording.engine.shadow_flags)},
    {0, "code-cache", "ON|OFF", .help = "whether shadows share translated code (default on)",
     .word = switch_word, .take = take_code_cache},
    {0, "log-input", NULL,
     .help = "log the program's input from pipes, sockets and the like, and replay it: shadows "
             "run past reads and waits",
     .bits = SHADOW_LOG_INPUT, FIELD(struct record_options, recording.engine.shadow_flags)},
    {0, "threads", "WHICH",
     .help = "one: a shadow has the interrupted thread alone; all: all threads of the program, in "
             "turns; auto (default): all within a budget, where several run, or where one waited "
             "for another",
     .word = threads_word, .take = take_threads},
    {0, "barrier-timeout", "TIME",
     .help = "with --threads all and auto: how long to wait for all threads to stop before a "
             "shadow is made (default 20ms)",
     FIELD(struct record_options, recording.engine.barrier_us),
     NUMBER(number_durations, 1e3 * ENGINE_BARRIER_LEAST, 1e3 * ENGINE_BARRIER_MOST,
            .what = "the time for all threads to stop, 100us to 1s (--barrier-timeout)",
            .per = 1e3)},
    {0, "seed", "N",
     .help = "with --threads all and auto: seed of the order of turns (default 0); with --carrier "
             "compiled: of intervals",
     FIELD(struct record_options, recording.engine.seed),
     GIVEN(struct record_options, recording.engine.seed_given),
     NUMBER(number_counts, 0, 1e15, .what = "the seed (--seed)")},
    {0, "baseline", "TIME",
     .help = "with --exact: the CPU time that PROGRAM takes natively, for the report's slowdown",
     FIELD(struct record_options, recording.engine.native_ns),
     NUMBER(number_durations, 1, 1e18, .what = "the native CPU time (--baseline)")},
    {0, "production", "FILE",
     .help = "do at instructions what the productions of FILE say (docs/productions.md), in the "
             "whole run, in bursts or shadows (--carrier): hot-methods, hot-call-pairs, "
             "hot-data-streams, all, or a file of your own; several are merged",
     .brief = "sample what the productions of FILE say: hot-methods, hot-call-pairs, ...",
     .take = take_production},
    {0, "burst", "N",
     .help = "with --production: events of a burst (default 100)",
     FIELD(struct record_options, recording.productions.burst),
     NUMBER(number_counts, 1, (double)PRODUCTION_BURST_MOST,
            .what = "the events of a burst (--burst)")},
    {0, "check", NULL,
     .help = "with --production: show the merged productions, or what is wrong in them, and record "
             "nothing",
     FIELD(struct record_options, check)},
    {0, "module", "FILE.so",
     .help = "observe and keep what this module asks for (penumbra/module.h); --tool values, "
             "latency and conflicts are built-in modules",
     FIELD(struct record_options, recording.values.file)},
    {0, "every", "K",
     .help = "observe values at one of K samples (default 2, or the module's choice; fewer where "
             "that would cost more than 0.7% of CPU time; with -a 1)",
     FIELD(struct record_options, recording.values.every),
     NUMBER(number_counts, 1, VALUES_EVERY_MOST, .what = "the share of triggers (--every)")},
    {0, "by-site", NULL, .help = "keep values apart by the call site of their function",
     FIELD(struct record_options, recording.values.by_site)},
    {0, "summary", "HOW",
     .help = "keep the most frequent values by concise sampling (default) or in top-N-value "
             "tables (tnv)",
     .word = summary_word, FIELD(struct record_options, recording.values.summary),
     GIVEN(struct record_options, recording.values.summary_given),
     .number.what = "summary of values"},
    {0, "redact", NULL,
     .help = "keep no value, only how often it repeats; of an address only its place in an image, "
             "or its kind of memory",
     FIELD(struct record_options, recording.values.redact)},
    {'q', "quiet", NULL, .help = "no live line, no summary: errors only", .brief = "errors only",
     FIELD(struct record_options, quiet)},
};

/* ---- what the help ends with ---- */

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

static void tail_brief(FILE *to)
{
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

static void tail_full(FILE *to)
{
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
                tool_about(i)->carriers == TOOL_EXACT      ? " (--exact only)"
                : i == tool_default(1u << CARRIER_HANDLER) ? " (the default)"
                                                           : "");
    fprintf(to,
            "\nThe exit status is PROGRAM's own, and if it dies by a signal, so does penumbra.\n"
            "Errors before PROGRAM starts have a status of 118 to 127: see the manual page.\n");
}

static void tail(FILE *to, bool all)
{
    (all ? tail_full : tail_brief)(to);
}

bool record_options_take(struct record_options *o, int argc, char **argv, int *status)
{
    static const struct options table = {
        .command = "record",
        .usage = "Usage: penumbra record [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
                 "       penumbra record [OPTIONS] -p PID\n"
                 "       penumbra record [OPTIONS] -a [-- PROGRAM [ARGUMENTS]]\n\n"
                 "Runs PROGRAM and records which calling contexts use its time.\n\n"
                 "Options:\n",
        .rows = rows,
        .count = sizeof rows / sizeof rows[0],
        .has_help_all = true,
        .before_program = true,
        .tail = tail,
    };
    int first;
    *o = (struct record_options){0};
    recording_options_init(&o->recording);
    if (!options_take(&table, argc, argv, o, &first, status))
        return false;
    o->recording.program = argv + first;
    return true;
}
