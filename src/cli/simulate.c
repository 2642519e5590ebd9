/* `penumbra simulate`: a recording of the whole run by the tool `simulate`, and its report. */
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/record_run.h"
#include "collector/machine_file.h"
#include "sigsafe/tools.h"

enum { SETS_MOST = 64 };

struct arguments {
    struct recording_options recording;
    const char *machine;
    const char *sets[SETS_MOST + 1]; /* NULL-terminated */
    unsigned set_count;
    const char *limit;
    bool quiet, json, keys;
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

static const struct option_row rows[] = {
    {'m', "machine", "FILE",
     .help = "the machine: a file of KEY = VALUE lines, or the name of one that penumbra knows: "
             "golden-cove, zen4, hps2005",
     .filled = true, FIELD(struct arguments, machine)},
    {'s', "set", "KEY=VALUE",
     .help = "another value of one key, as in l2_size=2M; may be given several times",
     .take = take_set},
    {0, "list-keys", NULL, .help = "print all keys, their bounds and what they mean, and exit",
     FIELD(struct arguments, keys)},
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

static void report(void *context, const char *file)
{
    const struct arguments *a = context;
    char *words[8] = {"report", a->json ? "--json" : "--simulate"};
    int count = 2;
    if (a->quiet)
        return;
    if (a->limit) {
        words[count++] = "--limit";
        words[count++] = (char *)a->limit;
    }
    words[count++] = (char *)file;
    fflush(stdout);
    command_report(count, words);
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

static bool prepare(struct arguments *a, struct err *e)
{
    if (!a->machine)
        return err_set(e, ERR_USAGE, "no machine was given: --machine FILE, or --machine zen4");
    if (!machine_file_load(a->machine, a->sets, &a->model, e))
        return false;
    name_machine(a);
    a->recording.values.machine = &a->model;
    a->recording.values.machine_name = a->name;
    a->recording.engine.carrier = CARRIER_EXACT;
    return record_engine_tool(&a->recording.engine, tool_about(TOOL_SIMULATE)->name, e);
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
