/* The subcommands of `penumbra`, one file each. A subcommand takes its options by
 * its table (options.h; argv[0] is its name), prints its errors with command_fail, and returns the
 * exit status. Only this layer prints errors or decides exit statuses.
 *
 * Context: the main thread of the penumbra command. */
#ifndef PENUMBRA_CLI_COMMAND_H
#define PENUMBRA_CLI_COMMAND_H

#include "base/err.h"
#include "collector/callbacks.h"

/* X(name, one line for `penumbra --help`). command_NAME is in NAME.c. */
#define COMMANDS(X)                                                                                \
    X(record, "run a program and record where its time goes")                                      \
    X(daemon, "sample the whole machine always, into a profile database")                          \
    X(query, "report what a profile database has of a range of time")                              \
    X(serve, "show what a profile database has as a page in the browser")                          \
    X(db, "look after a profile database: gc, check, export")                                      \
    X(report, "print a profile, or write it as a page of HTML or as JSON")                         \
    X(simulate, "run a program on a modelled processor, and say where its cycles go")              \
    X(export, "convert a profile for other tools")                                                 \
    X(push, "send a profile to an OpenTelemetry collector")                                        \
    X(merge, "make one profile of several, for example of the ranks of a parallel program")        \
    X(annotate, "show a function's instructions and source with their counts")                     \
    X(diff, "say what changed between two recordings, and whether it is more than chance")         \
    X(compare, "measure a sampled profile against an exact one")                                   \
    X(calibrate, "measure this machine's memory hierarchy, for record --tool latency")             \
    X(symbolize, "add names to a profile from debug information installed later")                  \
    X(symbols, "upload names of functions to a fleet's store, for programs that are stripped")     \
    X(recover, "finish a recording whose collector was killed")                                    \
    X(control, "change a recording while it runs")                                                 \
    X(cflags, "print what gcc is given to compile a program with instrumentation")                 \
    X(cc, "run a build that compiles with instrumentation")

#define COMMAND_DECLARATION(name, summary) int command_##name(int argc, char **argv);
COMMANDS(COMMAND_DECLARATION)
#undef COMMAND_DECLARATION

/* Prints "penumbra NAME: message" on standard error; returns the exit status for e->code. */
int command_fail(const char *name, const struct err *e);
/* Metrics that a profile may have: for completion. */
const char *metric_word(unsigned index);
/* Words that may follow --observation, as far as they are known without a profile. */
const char *observation_word(unsigned index);
/* Says on a terminal how far reading names is. */
const struct recording_callbacks *command_progress(void);

#endif
