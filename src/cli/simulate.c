/* `penumbra simulate`: a recording of the whole run by the tool `simulate`, and its report. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/record_run.h"
#include "base/suggest.h"
#include "collector/machine_file.h"
#include "collector/open_profile.h"
#include "model/dise.h"
#include "profile/profile.h"
#include "profile/simulate.h"
#include "sigsafe/tools.h"
#include "sigsafe/warm.h"

enum { SETS_MOST = 64 };

struct arguments {
    struct recording_options recording;
    const char *machine;
    const char *sets[SETS_MOST + 1]; /* NULL-terminated */
    unsigned set_count;
    const char *limit, *against;
    uint32_t dise;   /* enum dise_mode */
    bool dise_given;
    bool quiet, json, keys, sample, cold, warming_given, seed_given;
    struct sample_settings sampling;
    struct machine model;
    char name[1024]; /* of the machine, with what was set */
};

static const char *key_word(unsigned index)
{
    const struct machine_key *key = machine_key_at(index);
    return key ? key->name : NULL;
}

static bool take_set(void *arguments, const char *value, struct err *e)
{
    struct arguments *a = arguments;
    if (a->set_count == SETS_MOST)
        return err_set(e, ERR_USAGE, "more than %d --set", SETS_MOST);
    a->sets[a->set_count++] = value;
    return true;
}

static bool take_production(void *arguments, const char *value, struct err *e)
{
    struct arguments *a = arguments;
    return record_productions_add(&a->recording.productions, value, e);
}

/* By enum dise_mode. */
static const char *dise_word(unsigned index)
{
    static const char *const words[] = {"hps", "original"};
    return index < sizeof words / sizeof *words ? words[index] : NULL;
}

static bool take_dise(void *arguments, const char *value, struct err *e)
{
    struct arguments *a = arguments;
    a->dise_given = true;
    return suggest_word("form of DISE (--dise)", value, dise_word, &a->dise, e);
}

static const struct option_row rows[] = {
    {'m', "machine", "FILE",
     .help = "the machine: a file of KEY = VALUE lines, or the name of one that penumbra knows: "
             "golden-cove, zen4, hps2005",
     .filled = true, FIELD(struct arguments, machine)},
    {'s', "set", "KEY=VALUE",
     .help = "another value of one key, as in l2_size=2M; may be given several times",
     .take = take_set},
    {0, "against", "FILE",
     .help = "say what is different from FILE, the profile of an earlier simulation: functions, by "
             "cause (docs/diff.md)",
     FIELD(struct arguments, against)},
    {0, "list-keys", NULL, .help = "print all keys, their bounds and what they mean, and exit",
     FIELD(struct arguments, keys)},
    {0, "production", "FILE",
     .help = "the machine does at instructions what the productions of FILE say "
             "(docs/productions.md): hot-methods, hot-call-pairs, hot-data-streams, all, or a file "
             "of your own; several are merged",
     .take = take_production},
    {0, "frequency", "A/B", .fallback = PRODUCTION_FREQUENCY_DEFAULT,
     .help = "with --production: the share of events that bursts have",
     FIELD(struct arguments, recording.productions.frequency)},
    {0, "burst", "N", .help = "with --production: events of a burst (default 100)",
     FIELD(struct arguments, recording.productions.burst),
     NUMBER(number_counts, 1, (double)PRODUCTION_BURST_MOST,
            .what = "the events of a burst (--burst)")},
    {0, "dise", "MODE",
     .help = "with --production: hps: with conditional control (default); original: what is "
             "replaced checks flags and moves counters itself",
     .take = take_dise, .word = dise_word},
    {0, "sample", NULL,
     .help = "model windows of the run only, and say how sure the cycles an instruction are",
     FIELD(struct arguments, sample)},
    {0, "period", "N", .fallback = "10M",
     .help = "with --sample: instructions of a thread that have one window, somewhere in them",
     FIELD(struct arguments, sampling.period), NUMBER(number_counts, 1e4, 1e12)},
    {0, "warming", "N",
     .help = "with --sample: instructions of a window that are modelled before it is measured "
             "(default 10k; with --cold 100k)",
     FIELD(struct arguments, sampling.warming),
     GIVEN(struct arguments, warming_given), NUMBER(number_counts, 0, 1e9)},
    {0, "cold", NULL,
     .help = "with --sample: nothing updates caches, TLBs and predictors between windows",
     FIELD(struct arguments, cold)},
    {0, "seed", "N", .fallback = "0",
     .help = "with --sample: where in its period each window begins is drawn by it",
     FIELD(struct arguments, sampling.seed), GIVEN(struct arguments, seed_given),
     NUMBER(number_counts, 0, 1e9)},
    {0, "window", "N", .fallback = "20k",
     .help = "with --sample: instructions of a window that are measured",
     FIELD(struct arguments, sampling.measured), NUMBER(number_counts, 100, 1e9)},
    {'o', "output", "FILE", .help = "write the profile to FILE (default penumbra.pnb)",
     .filled = true, FIELD(struct arguments, recording.output)},
    {0, "json", NULL, .help = "report as JSON (docs/json.md): the member simulated",
     FIELD(struct arguments, json)},
    {0, "limit", "N", .help = "functions that are shown (default 50; 0 is no limit)",
     FIELD(struct arguments, limit)},
    {0, "no-follow", NULL, .help = "leave out forked children and exec'ed programs", .clears = true,
     FIELD(struct arguments, recording.follow)},
    {0, "no-names", NULL, .help = "keep no names of functions and lines in the profile",
     .clears = true, FIELD(struct arguments, recording.names)},
    {0, "spool", "DIR",
     .help = "put the temporary counters into DIR (default /dev/shm, else beside FILE)",
     FIELD(struct arguments, recording.spool_dir)},
    {'q', "quiet", NULL, .help = "write the profile, report nothing",
     FIELD(struct arguments, quiet)},
};

static const struct options options = {
    .command = "simulate",
    .usage = "Usage: penumbra simulate --machine FILE [OPTIONS] [--] PROGRAM [ARGUMENTS]\n\n"
             "Runs PROGRAM under the engine, feeds an out-of-order processor model with all that "
             "it executes,\n"
             "and prints the cycles that it takes there, by their cause, in all and by "
             "function.\n\n"
             "Options:\n",
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
    .before_program = true,
};

/* Addresses are the same in every run, and so are the cycles. */
static void fix_addresses(void)
{
    personality(ADDR_NO_RANDOMIZE);
}

/* What the program cost, or with --against what it costs more or less. */
static void report(void *context, const char *file)
{
    const struct arguments *a = context;
    char *words[8] = {a->against ? "diff" : "report"};
    int count = 1;
    if (a->quiet)
        return;
    if (a->json)
        words[count++] = "--json";
    else if (!a->against)
        words[count++] = "--simulate";
    if (a->recording.productions.count && !a->json && !a->against)
        words[count++] = "--productions";
    if (a->limit) {
        words[count++] = "--limit";
        words[count++] = (char *)a->limit;
    }
    if (a->against)
        words[count++] = (char *)a->against;
    words[count++] = (char *)file;
    fflush(stdout);
    (a->against ? command_diff : command_report)(count, words);
}

static void print_key(const struct machine_key *key)
{
    printf("%-24s ", key->name);
    if (key->kind == MACHINE_WORD) {
        for (unsigned i = 0; machine_word(key, i); i++)
            printf("%s%s", i ? "|" : "", machine_word(key, i));
    } else if (key->kind == MACHINE_PORT_LIST) {
        printf("ports, as in 0 1 5");
    } else {
        printf("%.0f to %.0f", key->least, key->most);
    }
    printf("%s: %s\n", key->kind == MACHINE_POWER ? ", a power of two" : "", key->what);
}

static int list_keys(void)
{
    for (unsigned i = 0; key_word(i); i++)
        print_key(machine_key_at(i));
    return 0;
}

/* "zen4", "l2_size=2M": the file's name without its folder, and what differs. */
static void name_machine(struct arguments *a)
{
    const char *slash = strrchr(a->machine, '/');
    const char *from = slash ? slash + 1 : a->machine, *dot = strrchr(from, '.');
    size_t length = dot && dot != from ? (size_t)(dot - from) : strlen(from);
    size_t used = (size_t)snprintf(a->name, sizeof a->name, "%.*s", (int)length, from);
    for (unsigned i = 0; i < a->set_count && used < sizeof a->name; i++)
        used += (size_t)snprintf(a->name + used, sizeof a->name - used, " %s", a->sets[i]);
}

/* General registers that productions keep. */
static bool take_registers(const struct production_program *p, uint16_t *registers, struct err *e)
{
    enum { MOST = 10 }; /* besides what the model captures of an instruction */
    for (uint32_t i = 0; i < p->group_count; i++)
        for (unsigned k = 0; k < PRODUCTION_FIELDS; k++) {
            unsigned field = p->groups[i].fields[k];
            if (field >= FIELD_REGISTER && field < FIELD_END)
                *registers |= (uint16_t)(1u << (field - FIELD_REGISTER));
        }
    return __builtin_popcount(*registers) <= MOST ||
           err_set(e, ERR_USAGE, "the productions keep more than %d registers, which is the most "
                                 "in a simulation", MOST);
}

/* Whether the machine can run them, before the program is started; which program's functions they
 * name does not matter. */
static bool prepare_productions(struct arguments *a, struct err *e)
{
    struct record_productions *o = &a->recording.productions;
    struct record_values *v = &a->recording.values;
    if (!o->count && a->dise_given)
        return err_set(e, ERR_USAGE, "--dise is about productions: add --production FILE");
    if (!o->count)
        return true;
    struct production_program *p = calloc(1, sizeof *p);
    o->by_model = v->productions = true;
    v->dise_original = a->dise == DISE_ORIGINAL;
    bool ok = p ? record_productions_read(o, NULL, p, e) &&
                      dise_check(&a->model, p, (enum dise_mode)a->dise, e) &&
                      take_registers(p, &v->registers, e)
                : err_set(e, ERR_INTERNAL, "out of memory");
    free(p);
    return ok;
}

/* The greatest power of two, of those that are possible, that divides the sets of the first-level
 * cache. */
static uint32_t lines_of(const struct machine *m)
{
    uint32_t sets = m->l1d_size / m->l1d_ways >> WARM_LINE_SHIFT;
    uint32_t lines = sets & -sets;
    return lines < WARM_LINES_MOST ? lines : WARM_LINES_MOST;
}

/* Each eighth window is long. The longest fit the period with room. */
static bool settle_sampling(struct arguments *a, struct err *e)
{
    enum {
        PERIOD = 10000000, WARMING = 10000, COLD_WARMING = 100000, MEASURED = 20000, BIAS_EVERY = 8,
        ROOM = 4096,
    };
    struct sample_settings *s = &a->sampling;
    const char *about = s->period          ? "period"
                        : s->measured      ? "window"
                        : a->warming_given ? "warming"
                        : a->seed_given    ? "seed"
                        : a->cold          ? "cold"
                                           : NULL;
    if (!a->sample && about)
        return err_set(e, ERR_USAGE, "--%s is about a sampled simulation: add --sample", about);
    if (!a->sample)
        return true;
    if (a->recording.productions.count)
        return err_set(e, ERR_USAGE, "productions count all that is executed: leave out --sample, "
                                     "or --production");
    s->period = s->period ? s->period : PERIOD;
    s->warming = a->warming_given ? s->warming : a->cold ? COLD_WARMING : WARMING;
    s->measured = s->measured ? s->measured : MEASURED;
    s->bias_every = BIAS_EVERY;
    s->lines = a->cold ? 0 : lines_of(&a->model);
    if (sample_length(s, BIAS_EVERY) + ROOM > s->period)
        return err_set(e, ERR_USAGE,
                       "windows do not fit the period: --period has to be more than four times "
                       "--warming and twice --window");
    a->recording.values.sample = *s;
    return true;
}

/* Before the program runs. */
static bool check_against(const struct arguments *a, struct err *e)
{
    const char *output = a->recording.output ? a->recording.output : PROFILE_DEFAULT;
    if (!a->against)
        return true;
    if (a->quiet)
        return err_set(e, ERR_USAGE, "--quiet reports nothing: leave out --quiet or --against");
    if (!output_is_apart(output, a->against, e))
        return false;
    struct profile *p = profile_read(a->against, e);
    bool simulated = p && profile_is_simulated(p), read = p;
    profile_free(p);
    return read && (simulated || err_set(e, ERR_USAGE, "%s is no simulation: --against wants a "
                                         "profile that penumbra simulate has written",
                                         a->against));
}

static bool prepare(struct arguments *a, struct err *e)
{
    if (!a->machine)
        return err_set(e, ERR_USAGE, "no machine was given: --machine FILE, or --machine zen4");
    if (!machine_file_load(a->machine, a->sets, &a->model, e))
        return false;
    if (!settle_sampling(a, e))
        return false;
    if (!check_against(a, e))
        return false;
    name_machine(a);
    a->recording.values.machine = &a->model;
    a->recording.values.machine_name = a->name;
    a->recording.engine.carrier = CARRIER_EXACT;
    return prepare_productions(a, e) &&
           record_engine_tool(&a->recording.engine, tool_about(TOOL_SIMULATE)->name, e);
}

int command_simulate(int argc, char **argv)
{
    static struct arguments a;
    struct err e = {0};
    int first, status;
    recording_options_init(&a.recording);
    if (!options_take(&options, argc, argv, &a, &first, &status))
        return status;
    if (a.keys)
        return list_keys();
    if (!prepare(&a, &e))
        return command_fail("simulate", &e);
    a.recording.program = argv + first;
    return record_run(&(struct record_run){.command = "simulate", .recording = &a.recording,
                                           .quiet = true, .in_child = fix_addresses,
                                           .written = report, .context = &a});
}
