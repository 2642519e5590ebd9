#include "cli/command.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/suggest.h"
#include "collector/events.h"
#include "profile/profile.h"

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
};

#define COMMAND_ROW(name, summary) {#name, command_##name, summary},
static const struct command commands[] = {COMMANDS(COMMAND_ROW)};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

int command_fail(const char *name, const struct err *e)
{
    fprintf(stderr, "penumbra %s: %s\n", name, e->message);
    return (int)e->code;
}

const char *metric_word(unsigned index)
{
    static const char *const of_memory[] = {"allocated", "live", "peak"};
    enum { OF_MEMORY = sizeof of_memory / sizeof of_memory[0] };
    const struct event *event = index < OF_MEMORY ? NULL : events_row(index - OF_MEMORY);
    return index < OF_MEMORY ? of_memory[index] : event ? event->name : NULL;
}

const char *observation_word(unsigned index)
{
    return index ? profile_carrier_name(index - 1) : profile_observation_how_name(OBSERVED_SAMPLED);
}

static void say_progress(void *context, unsigned done, unsigned all)
{
    (void)context;
    fprintf(stderr, "penumbra: reading names, of %u of %u files so far\n", done, all);
}

const struct recording_callbacks *command_progress(void)
{
    static const struct recording_callbacks silent, says = {.progress = say_progress};
    return isatty(STDERR_FILENO) == 1 ? &says : &silent;
}

static void print_help(FILE *to)
{
    fprintf(to, "Usage: penumbra COMMAND [ARGUMENTS]\n\n"
                "A call-path profiler for unmodified Linux x86-64 programs.\n\nCommands:\n");
    for (unsigned i = 0; i < COMMAND_COUNT; i++)
        fprintf(to, "  %-9s %s\n", commands[i].name, commands[i].summary);
    fprintf(to, "  %-9s %s\n", "help", "this text, or that of one command: penumbra help COMMAND");
    fprintf(to, "\nOptions:\n"
                "  --help     this text; after a command, the text of that command\n"
                "  --version  the version\n\n"
                "First steps:\n"
                "  penumbra record -- PROGRAM ARGUMENTS\n"
                "  penumbra report\n");
}

static const struct command *find_command(const char *name)
{
    for (unsigned i = 0; i < COMMAND_COUNT; i++)
        if (!strcmp(name, commands[i].name))
            return &commands[i];
    return NULL;
}

static int unknown_command(const char *name)
{
    struct suggest s = {0};
    for (unsigned i = 0; i < COMMAND_COUNT; i++)
        suggest_offer(&s, name, commands[i].name);
    fprintf(stderr, "penumbra: there is no command \"%s\"", name);
    if (s.best)
        fprintf(stderr, "; did you mean \"%s\"?\n", s.best);
    else
        fprintf(stderr, "; see penumbra --help\n");
    return ERR_USAGE;
}

static int run_help(int argc, char **argv)
{
    if (argc < 2 || !strcmp(argv[1], "help")) {
        print_help(stdout);
        return 0;
    }
    const struct command *c = find_command(argv[1]);
    if (!c)
        return unknown_command(argv[1]);
    char help[] = "--help";
    char *arguments[] = {argv[1], help, NULL};
    return c->run(2, arguments);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return ERR_USAGE;
    }
    const char *name = argv[1];
    if (!strcmp(name, "--help") || !strcmp(name, "-h")) {
        print_help(stdout);
        return 0;
    }
    if (!strcmp(name, "--version") || !strcmp(name, "-V") || !strcmp(name, "version")) {
        printf("penumbra %s%s\n", PENUMBRA_VERSION, PENUMBRA_BPF ? "" : " (without BPF)");
        return 0;
    }
    if (!strcmp(name, "help"))
        return run_help(argc - 1, argv + 1);
    const struct command *c = find_command(name);
    return c ? c->run(argc - 1, argv + 1) : unknown_command(name);
}
