/* The process that a module runs in, seen from the collector: it is started before the program,
 * watched while the recording goes on, and told to finish when it is over. What it counted is in
 * the spool all the time.
 *
 *     collector ── fork ──> host: loads the module, asks it what to capture
 *         │ <── pipe: struct reply ──┘   │
 *         │ starts the program           │ empties rings, calls the module
 *         │ polls: has it ended? is its  │
 *         │   callback getting anywhere? │
 *         └─ finish = 1 ───────────────> │ empties rings once more, ends
 *
 * Context: the collector's main thread.
 * Ownership: record_host_finish reaps the process; it also ends if the collector does. */
#ifndef PENUMBRA_COLLECTOR_RECORD_HOST_H
#define PENUMBRA_COLLECTOR_RECORD_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "collector/callbacks.h"
#include "collector/record_spool.h"
#include "modules/host.h"
#include "sigsafe/settings.h"

struct record_host {
    pid_t pid;          /* 0: there is none */
    const char *name;   /* of the module, as the user said it */
    const struct recording_callbacks *callbacks;
    struct spool *spool;
    struct spool_values *values;
    uint64_t progress;  /* when it was last seen to have changed: */
    uint64_t cpu_ns;    /* the CPU time of the process */
    uint64_t wall_ns;   /* CLOCK_MONOTONIC */
};

/* file: of a shared object, or NULL: name is a built-in module's. Sets what the module wants in
 * *settings, which the spool does not have yet. */
bool record_host_start(struct record_host *h, const char *file, const char *name,
                       const struct host_options *options, struct record_spool *spool,
                       struct value_settings *settings, const struct recording_callbacks *callbacks,
                       struct err *e);

/* Drops a module that crashed or hangs, and tells it. Does nothing without a host. */
void record_host_poll(struct record_host *h);

/* After the last sequence was published: waits until the module has seen it. */
void record_host_finish(struct record_host *h);

/* Before the program was started: there will be no recording. */
void record_host_abandon(struct record_host *h);

#endif
