/* Starting the program, and watching it.
 *
 * Context: the main thread.
 * Ownership: struct record_child owns nothing. */
#ifndef PENUMBRA_COLLECTOR_RECORD_LAUNCH_H
#define PENUMBRA_COLLECTOR_RECORD_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/err.h"
#include "collector/callbacks.h"
#include "collector/record_check.h"

struct record_child {
    pid_t pid;
    bool ended;
    int status;           /* as waitpid gives it, once ended */
    uint64_t cpu_ns;      /* once ended: of it, and of all that it and they have waited for */
    bool stopped;         /* by a terminal's stop signal */
    uint64_t stopped_ns;  /* CLOCK_MONOTONIC */
};

/* Starts the program in the collector's process group, with its streams, `runtime` preloaded and
 * the spool's path in the environment. False if exec fails; then nothing runs. */
bool record_launch(struct record_child *c, const struct record_program *program, char **argv,
                   const char *runtime, const char *spool_path,
                   const struct recording_callbacks *callbacks, struct err *e);

/* Starts the program unrecorded, with the environment as it is. prepare: called in the new process;
 * may be NULL. */
bool record_launch_native(pid_t *pid, const struct record_program *program, char **argv,
                          void (*prepare)(void), const struct recording_callbacks *callbacks,
                          struct err *e);

/* User and system time. */
uint64_t record_used_ns(const struct rusage *used);

/* Looks, without waiting, whether the program has ended; tells when a terminal has stopped it alone
 * (a shell would wait for the collector, which runs). */
void record_child_poll(struct record_child *c, uint64_t now_ns,
                       const struct recording_callbacks *callbacks);

#endif
