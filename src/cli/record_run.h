/* A recording from a command's point of view: made, told of on standard error, and written. Of
 * `penumbra record`, and of commands that record in their own way.
 *
 * Context: the main thread.
 * Ownership: the options are the caller's, and are read until record_run returns. */
#ifndef PENUMBRA_CLI_RECORD_RUN_H
#define PENUMBRA_CLI_RECORD_RUN_H

#include "collector/recording_options.h"

struct record_run {
    const char *command; /* for messages */
    const struct recording_options *recording;
    bool quiet;
    void (*in_child)(void); /* in the program's process before it is executed; may be NULL */
    /* The profile is in the file, and the program has ended. May be NULL. */
    void (*written)(void *context, const char *file);
    void *context;
};

/* Returns the exit status, which is the program's own; or ends as the program has ended. */
int record_run(const struct record_run *options);

#endif
