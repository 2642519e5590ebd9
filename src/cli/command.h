/* The subcommands of `penumbra`, one file each. A subcommand parses its own options with
 * getopt_long (argv[0] is its name), prints its errors with command_fail, and returns the exit
 * status. Only this layer prints errors or decides exit statuses.
 *
 * Context: the main thread of the penumbra command. */
#ifndef PENUMBRA_CLI_COMMAND_H
#define PENUMBRA_CLI_COMMAND_H

#include "base/err.h"

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary; /* one line for `penumbra --help` */
};

int command_record(int argc, char **argv);
int command_symbolize(int argc, char **argv);
int command_recover(int argc, char **argv);
int command_report(int argc, char **argv);
int command_export(int argc, char **argv);
int command_merge(int argc, char **argv);
int command_annotate(int argc, char **argv);
int command_compare(int argc, char **argv);
int command_calibrate(int argc, char **argv);

/* Prints "penumbra NAME: message" on standard error; returns the exit status for e->code. */
int command_fail(const char *name, const struct err *e);

#endif
