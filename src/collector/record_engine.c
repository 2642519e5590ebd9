#include "collector/record_engine.h"

#include <string.h>

#include "base/numbers.h"
#include "base/suggest.h"
#include "profile/counts.h"
#include "sigsafe/settings.h"
#include "sigsafe/spool_inst.h"
#include "sigsafe/tools.h"

enum {
    LENGTH_DEFAULT = 1000,
    SAMPLE_DEFAULT = 10000000,
    LOAD_BUDGET = 1000,
    BARRIER_DEFAULT = 20000
};
#define SHADOW_MEMORY (UINT64_C(512) << 20)
enum { CONTEXTS_DEFAULT = 1 << 20 };
enum { SKIP_DEFAULT = 2000 }; /* docs/values.md, "Bias" */

const char *record_engine_tool_word(unsigned index)
{
    for (uint32_t i = 0; i < TOOL_KIND_COUNT; i++)
        if (!tool_about(i)->measuring && index-- == 0)
            return tool_about(i)->name;
    return NULL;
}

/* One tool more. */
static bool tool_add(struct record_engine *r, const char *name, struct err *e)
{
    uint32_t place;
    for (uint32_t i = 0; i < TOOL_KIND_COUNT; i++)
        if (strcmp(tool_about(i)->name, name) == 0) {
            r->tools |= tools_one(i);
            return true;
        }
    return suggest_word("tool (--tool)", name, record_engine_tool_word, &place, e);
}

bool record_engine_tool(struct record_engine *r, const char *text, struct err *e)
{
    enum { NAME_MAX_LENGTH = 64 };
    char name[NAME_MAX_LENGTH];
    bool ok = true;
    r->tools = 0;
    for (const char *at = text; ok && at;) {
        const char *comma = strchr(at, ',');
        size_t length = comma ? (size_t)(comma - at) : strlen(at);
        length = length < sizeof name ? length : sizeof name - 1;
        memcpy(name, at, length);
        name[length] = '\0';
        ok = tool_add(r, name, e);
        at = comma ? comma + 1 : NULL;
    }
    return ok;
}

bool record_engine_length(struct record_engine *r, const char *text, struct err *e)
{
    static const char what[] = "the length of bursts (--length)";
    const char *most = strstr(text, "..");
    char least[32] = "";
    double value, from = 0;
    if (most && (size_t)(most - text) < sizeof least) {
        memcpy(least, text, (size_t)(most - text));
        if (!number_parse(least, number_counts, 1, ENGINE_LENGTH_MOST, what, &from, e))
            return false;
        text = most + 2;
    }
    if (!number_parse(text, number_counts, from > 1 ? from : 1, ENGINE_LENGTH_MOST, what, &value,
                      e))
        return false;
    r->length_least = (uint64_t)from;
    r->length = (uint64_t)value;
    return true;
}

/* Under which the tool must run. */
static uint32_t carriers_needed(const struct record_engine *r)
{
    return r->carrier == CARRIER_AUTO ? 1u << CARRIER_BURST | 1u << CARRIER_SHADOW
                                      : 1u << r->carrier;
}

static bool tool_fits(const struct record_engine *r, uint32_t kind, bool attached, struct err *e)
{
    const struct tool_about *tool = tool_about(kind);
    uint32_t carriers = tool->carriers, needed = carriers_needed(r);
    const char *name = tool->name;
    if ((carriers & needed) == needed)
        return true;
    if (tools_of_compiled(tools_one(kind)))
        return err_set(e, ERR_USAGE, "the tool %s %s", name, tool->instead);
    if (r->carrier == CARRIER_COMPILED)
        return err_set(e, ERR_USAGE,
                       "the tool %s is not among those that are compiled into a program; leave "
                       "--carrier compiled out",
                       name);
    if (tool->instead)
        return err_set(e, ERR_USAGE, "the tool %s (%s) runs under the carrier handler only; %s",
                       name, tool->sentence, tool->instead);
    if (r->carrier == CARRIER_HANDLER && attached && carriers >> CARRIER_SHADOW & 1)
        return err_set(e, ERR_USAGE,
                       "the tool %s needs the program's code to run under the engine: "
                       "add --carrier shadow",
                       name);
    if (r->carrier == CARRIER_HANDLER && !attached)
        return err_set(e, ERR_USAGE,
                       "the tool %s needs the program's code to run under the engine: "
                       "add --exact for the whole run%s",
                       name, carriers >> CARRIER_BURST & 1 ? ", or --carrier burst" : "");
    const char *use = attached ? "start the program with penumbra record" : "use";
    if (r->carrier == CARRIER_HANDLER)
        return err_set(e, ERR_USAGE, "the tool %s needs the whole run: %s --exact --tool %s", name,
                       use, name);
    return err_set(
        e, ERR_USAGE,
        "the tool %s needs the whole run: what it counts begins before a %s; "
        "%s --exact --tool %s",
        name, r->carrier == CARRIER_AUTO ? "shadow or burst" : profile_carrier_name(r->carrier),
        use, name);
}

/* Or may be. */
static bool in_bursts(const struct record_engine *r)
{
    return r->carrier == CARRIER_BURST || r->carrier == CARRIER_AUTO;
}

static bool in_shadows(const struct record_engine *r)
{
    return r->carrier == CARRIER_SHADOW || r->carrier == CARRIER_AUTO;
}

/* The next two of the set that `alike` is true of. False: there are no two. */
static bool two_find(uint64_t tools, bool (*alike)(const struct tool_about *), const char *names[2])
{
    unsigned found = 0;
    for (uint32_t i = tools_next(tools, 0); i < TOOL_KIND_COUNT && found < 2;
         i = tools_next(tools, i + 1))
        if (alike(tool_about(i)))
            names[found++] = tool_about(i)->name;
    return found == 2;
}

static bool watches(const struct tool_about *t)
{
    return t->watches;
}

static bool is_module(const struct tool_about *t)
{
    return t->module;
}

static bool has_values(const struct tool_about *t)
{
    return t->module || t->hotlists;
}

/* What cannot be done in one pass. */
static bool set_fits(const struct record_engine *r, struct err *e)
{
    const char *two[2] = {NULL};
    if (two_find(r->tools, watches, two))
        return err_set(e, ERR_USAGE,
                       "the tools %s and %s both choose in line what they look at, and code has "
                       "one choice: record them one after the other",
                       two[0], two[1]);
    if (two_find(r->tools, is_module, two))
        return err_set(e, ERR_USAGE,
                       "the tools %s and %s are two modules, and a recording has one: "
                       "record them one after the other",
                       two[0], two[1]);
    if (two_find(r->tools, has_values, two))
        return err_set(e, ERR_USAGE,
                       "the tools %s and %s both make hotlists of values, and a recording has "
                       "one list: record them one after the other",
                       two[0], two[1]);
    if (!in_bursts(r) || !tools_about(r->tools).module || !tools_several(r->tools))
        return true;
    for (uint32_t i = tools_next(r->tools, 0); i < TOOL_KIND_COUNT; i = tools_next(r->tools, i + 1))
        two[tool_about(i)->module] = tool_about(i)->name;
    return err_set(
        e, ERR_USAGE,
        "in bursts the tool %s observes a few instructions behind many that are skipped, "
        "and %s whole blocks: add --exact or --carrier shadow, or leave one of them out",
        two[1], two[0]);
}

static bool tools_fit(const struct record_engine *r, bool attached, struct err *e)
{
    bool ok = true;
    for (uint32_t i = tools_next(r->tools, 0); ok && i < TOOL_KIND_COUNT;
         i = tools_next(r->tools, i + 1))
        ok = tool_fits(r, i, attached, e);
    return ok && set_fits(r, e);
}

/* The first option given that is about shadows, or NULL. */
static const char *shadow_option(const struct record_engine *r)
{
    return r->sample_size                         ? "--sample-size"
           : r->load_milli                        ? "--load"
           : r->threads_given                     ? "--threads"
           : r->barrier_us                        ? "--barrier-timeout"
           : r->seed_given                        ? "--seed"
           : r->shadow_flags & SHADOW_COLD        ? "--code-cache"
           : r->shadow_flags & SHADOW_LOG_INPUT   ? "--log-input"
           : r->finish_ns                         ? "--finish-shadows"
           : r->shadow_flags & SHADOW_SKIP_SHARED ? "--skip-shared-writes"
                                                  : NULL;
}

/* A process that runs already is observed in shadows only: the rest stands in front of the
 * program's calls, or is about a run that has begun. */
static bool attached_fits(const struct record_engine *r, struct err *e)
{
    const char *shadows =
        tools_about(r->tools).carriers >> CARRIER_SHADOW & 1 ? ", or choose --carrier shadow" : "";
    if (r->carrier == CARRIER_EXACT)
        return err_set(
            e, ERR_USAGE,
            "--exact observes the whole run, and that of a process that -p names has begun; "
            "start the program with penumbra record --exact%s",
            shadows);
    if (r->carrier == CARRIER_COMPILED)
        return err_set(e, ERR_USAGE,
                       "what is compiled into a program is observed from its start on; start it "
                       "with penumbra record --carrier compiled");
    if (in_bursts(r))
        return err_set(e, ERR_USAGE,
                       "bursts need libpenumbra-rt.so from the program's start on; start "
                       "it with penumbra record%s",
                       shadows);
    return true;
}

static bool skip_settle(struct record_engine *r, struct err *e)
{
    bool fits = in_bursts(r) && tools_about(r->tools).module;
    if (r->skip_given && !fits)
        return err_set(e, ERR_USAGE,
                       "--skip is about bursts that observe values: add --tool values");
    if (!r->skip_given && fits)
        r->skip = SKIP_DEFAULT;
    return true;
}

/* What is about shadows. */
static bool shadows_settle(struct record_engine *r, struct err *e)
{
    const char *option = shadow_option(r);
    struct tool_about tools = tools_about(r->tools);
    if (r->carrier == CARRIER_COMPILED && option && strcmp(option, "--seed") == 0)
        return true;
    if (option && !in_shadows(r))
        return err_set(e, ERR_USAGE, "%s is about shadows: add --carrier shadow", option);
    if (r->shadow_flags & SHADOW_LOG_INPUT && r->shadow_flags & SHADOW_THREADS)
        return err_set(
            e, ERR_USAGE,
            "--log-input is about shadows that have one thread: leave --threads all out");
    if (!r->threads_given && in_shadows(r))
        r->shadow_flags |= SHADOW_THREADS_AUTO;
    if (r->shadow_flags & SHADOW_LOG_INPUT)
        r->shadow_flags &= ~(uint32_t)SHADOW_THREADS_AUTO;
    if ((r->barrier_us || r->seed_given) &&
        !(r->shadow_flags & (SHADOW_THREADS | SHADOW_THREADS_AUTO)))
        return err_set(e, ERR_USAGE, "%s is about shadows that have several threads: %s",
                       r->seed_given ? "--seed" : "--barrier-timeout",
                       r->threads_given ? "leave --threads one out" : "leave --log-input out");
    if (!in_shadows(r))
        return true;
    r->burst_length = r->carrier == CARRIER_AUTO ? r->length : 0;
    if (r->budgeted && !r->sample_size && !r->load_milli)
        r->shadow_flags |= SHADOW_GOES_ON;
    if (r->finish_ns)
        r->shadow_flags |= SHADOW_FINISHES;
    r->length = r->sample_size ? r->sample_size
                : r->budgeted  ? tool_sample(&tools)
                               : SAMPLE_DEFAULT;
    r->load_milli = r->load_milli ? r->load_milli : LOAD_BUDGET;
    r->shadow_memory = SHADOW_MEMORY;
    r->barrier_us = r->barrier_us ? r->barrier_us : BARRIER_DEFAULT;
    return true;
}

bool record_engine_range(const char *option, uint64_t value, double least, double most,
                         const char *unit, struct err *e)
{
    if (!value || ((double)value >= least && (double)value <= most))
        return true;
    return err_set(e, ERR_USAGE, "%s: %llu is not between %.10g and %.10g %s", option,
                   (unsigned long long)value, least, most, unit);
}

/* What the caller filled in without the help of a command line. */
static bool check_ranges(const struct record_engine *r, struct err *e)
{
    static const char instructions[] = "instructions";
    return record_engine_range("--length", r->length, 1, ENGINE_LENGTH_MOST, instructions, e) &&
           record_engine_range("--skip", r->skip, 0, ENGINE_SKIP_MOST, instructions, e) &&
           record_engine_range("--sample-size", r->sample_size, ENGINE_SAMPLE_LEAST,
                               ENGINE_LENGTH_MOST, instructions, e) &&
           record_engine_range("--load", r->load_milli, 1, 1000.0 * ENGINE_LOAD_MOST,
                               "thousandths of a shadow", e) &&
           record_engine_range("--barrier-timeout", r->barrier_us, ENGINE_BARRIER_LEAST,
                               ENGINE_BARRIER_MOST, "microseconds", e) &&
           record_engine_range("--interval", r->interval, 1, INST_INTERVAL_MOST, "checks", e) &&
           record_engine_range("--iterations", r->iterations, 1, INST_ITERATIONS_MOST, "checks",
                               e) &&
           record_engine_range("--windows", r->windows, 1, INST_WINDOWS_MOST, "parts", e) &&
           record_engine_range("--timer", r->timer_us, INST_TIMER_LEAST_US, INST_TIMER_MOST_US,
                               "microseconds", e) &&
           record_engine_range("--max-contexts", r->contexts, ENGINE_CONTEXTS_LEAST,
                               ENGINE_CONTEXTS_MOST, "nodes", e);
}

static bool compiled_settle(struct record_engine *r, struct err *e)
{
    const char *given = r->interval     ? "--interval"
                        : r->iterations ? "--iterations"
                        : r->windows    ? "--windows"
                        : r->timer_us   ? "--timer"
                                        : NULL;
    if (given && r->carrier != CARRIER_COMPILED)
        return err_set(e, ERR_USAGE,
                       "%s is about instrumentation that is compiled into the program: "
                       "add --carrier compiled", given);
    if (r->timer_us && (r->windows || r->iterations))
        return err_set(e, ERR_USAGE, "with --timer each burst is one check, and there are no "
                       "windows: leave out %s", r->windows ? "--windows" : "--iterations");
    r->windows = r->windows ? r->windows : 1;
    r->interval = r->interval ? r->interval : INST_INTERVAL_DEFAULT;
    r->iterations = r->iterations ? r->iterations : 1;
    return true;
}

bool record_engine_settle(struct record_engine *r, bool attached, const char *sampled,
                          struct err *e)
{
    bool exact = r->carrier == CARRIER_EXACT, compiled = r->carrier == CARRIER_COMPILED;
    if (!check_ranges(r, e))
        return false;
    if (!r->tools && r->carrier == CARRIER_COMPILED)
        r->tools = tools_of_compiled(UINT64_MAX) | tools_one(TOOL_PATHS);
    if (!r->tools)
        r->tools = tools_one(tool_default(carriers_needed(r)));
    if (!compiled_settle(r, e))
        return false;
    if (!tools_fit(r, attached, e) || (attached && !attached_fits(r, e)) || !skip_settle(r, e))
        return false;
    if (r->length && !in_bursts(r))
        return err_set(e, ERR_USAGE, "--length is the length of bursts: add --carrier burst");
    if ((r->contexts || r->fold_recursion) && !tools_about(r->tools).contexts)
        return err_set(e, ERR_USAGE,
                       "%s is about the tree of exact calls: add --exact --tool calls",
                       r->contexts ? "--max-contexts" : "--fold-recursion");
    r->contexts = r->contexts ? r->contexts : CONTEXTS_DEFAULT;
    if (r->native_ns && !exact)
        return err_set(e, ERR_USAGE,
                       "--baseline is for --exact: the slowdown of other carriers is in "
                       "their profile as what they cost");
    if (exact && sampled)
        return err_set(e, ERR_USAGE, "%s is about samples, and --exact takes none: it observes the "
                       "whole run; leave one of them out", sampled);
    if (compiled && sampled)
        return err_set(e, ERR_USAGE,
                       "--carrier compiled takes a sample at one check of many, and %s is about "
                       "samples of time or events: give --interval instead", sampled);
    if (in_bursts(r) && !r->length && !tools_about(r->tools).module)
        r->length = LENGTH_DEFAULT;
    return shadows_settle(r, e);
}
