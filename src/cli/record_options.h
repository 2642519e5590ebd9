/* The command line of `penumbra record`.
 *
 * Context: the main thread.
 * Ownership: strings point into argv. */
#ifndef PENUMBRA_CLI_RECORD_OPTIONS_H
#define PENUMBRA_CLI_RECORD_OPTIONS_H

#include <stdbool.h>

#include "collector/recording_options.h"

struct record_options {
    struct recording_options recording;
    bool quiet;
    bool check; /* of productions: show them, and record nothing */
};

/* Parses argv (argv[0] is the command's name). False: it has printed help, or what is wrong with
 * which argument, and the command is to end with *status. */
bool record_options_take(struct record_options *o, int argc, char **argv, int *status);

#endif
