/* What is to be recorded, and how. Errors call an option as the command line does.
 *
 * Context: the main thread.
 * Ownership: strings are the caller's, and must live as long as the recording. */
#ifndef PENUMBRA_COLLECTOR_RECORDING_OPTIONS_H
#define PENUMBRA_COLLECTOR_RECORDING_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "collector/machine/machine.h"
#include "collector/record_engine.h"
#include "collector/record_events.h"
#include "collector/record_productions.h"
#include "collector/record_values.h"

enum { RECORDING_RATE_MOST = 100000, RECORDING_DEPTH_MOST = 1000000 };

struct recording_options {
    const char *output; /* NULL: not given */
    struct record_events events;
    uint32_t budget_ppm;  /* 0: none was asked for */
    uint64_t duration_ns; /* 0: until the program ends */
    uint32_t max_depth;   /* SPOOL_DEPTH_LEAST to RECORDING_DEPTH_MOST */
    struct record_engine engine;
    struct record_values values;
    struct record_productions productions;
    bool follow;
    bool randomize;
    bool names;         /* keep them in the profile */
    bool arm_sandboxes; /* set the triggers of threads made in sandboxes */
    bool kernel; /* stacks have a part in the kernel */
    bool trampoline;
    bool timeline; /* keep when samples fell */
    bool wait_all;
    bool verify_cost;
    const char *spool_dir; /* NULL: chosen */
    int pid;               /* of the process to attach to; 0: program is started */
    /* from outside; `pid`: the process whose tree it is of, and nothing is attached to */
    struct machine_options machine;
    char **program;        /* with its arguments, NULL-terminated; NULL: none */
};

static inline bool recording_options_is_machine(const struct recording_options *o)
{
    return machine_is_asked_for(&o->machine);
}
static inline bool recording_options_has_program(const struct recording_options *o)
{
    return o->program && *o->program;
}

/* The defaults, without a program. */
void recording_options_init(struct recording_options *o);
/* Fills in what was not given, and refuses what does not go together. */
bool recording_options_settle(struct recording_options *o, struct err *e);
/* The family of interposed functions that the recording needs (runtime/trigger/sync.h); NULL:
 * none. */
const char *recording_options_family(const struct recording_options *o);

#endif
