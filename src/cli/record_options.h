/* The command line of `penumbra record`.
 *
 * Context: the main thread.
 * Ownership: strings point into argv. */
#ifndef PENUMBRA_CLI_RECORD_OPTIONS_H
#define PENUMBRA_CLI_RECORD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "collector/record_engine.h"
#include "collector/record_events.h"
#include "collector/record_values.h"

struct record_options {
    const char *output;   /* NULL: not given */
    struct record_events events;
    uint32_t budget_ppm;  /* 0: none was asked for */
    uint64_t duration_ns; /* 0: until the program ends */
    uint32_t max_depth;
    struct record_engine engine;
    struct record_values values;
    bool follow;
    bool randomize;
    bool names;          /* keep them in the profile */
    bool arm_sandboxes;  /* set the triggers of threads made in sandboxes */
    bool trampoline;
    bool timeline;       /* keep when samples fell */
    bool wait_all;
    bool verify_cost;
    bool quiet;
    bool help, help_all;
    const char *spool_dir; /* NULL: chosen */
    int pid;               /* of the process to attach to; 0: program is started */
    char **program;        /* with its arguments, NULL-terminated */
};

/* Parses argv (argv[0] is the command's name). False: *e says what is wrong with which argument. */
bool record_options_parse(struct record_options *o, int argc, char **argv, struct err *e);
/* The options that help is asked for in o, on a screen or all of them. */
void record_options_help(const struct record_options *o, FILE *to);
/* The family of interposed functions that the recording needs (runtime/trigger/sync.h); NULL: none. */
const char *record_options_family(const struct record_options *o);

#endif
