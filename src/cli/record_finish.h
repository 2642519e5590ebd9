/* The end of a recording: from the spool to the file, and the line that says what came out.
 *
 * Context: the main thread, after the spool's state has become STOPPED.
 * Ownership: arguments are only read. */
#ifndef PENUMBRA_CLI_RECORD_FINISH_H
#define PENUMBRA_CLI_RECORD_FINISH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "collector/record_names.h"
#include "collector/record_processes.h"
#include "collector/record_spool.h"

struct record_result {
    char **argv;        /* of the program */
    const char *output; /* where the file goes */
    const char *shown;  /* its name as the user typed it */
    const char *notes;  /* lines */
    int exit_status;    /* as waitpid gives it; -1 while it runs */
    uint64_t duration_ns;
    uint64_t cpu_ns;    /* as in struct record_child; 0: not known */
    bool left_behind;   /* the program has ended, and not all processes that it made */
    bool wait_all;      /* they were to be waited for */
    struct record_processes processes;
    bool quiet;
    bool with_names;    /* names of code go into the profile */
    struct record_names names;
};

bool record_finish(const struct record_result *r, const struct record_spool *s, struct err *e);

#endif
