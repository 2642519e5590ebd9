/* What a profile says besides what the spool holds: the machine, the command, symbols of JIT code.
 *
 * Context: the main thread.
 * Ownership: the profile owns what is put into it. */
#ifndef PENUMBRA_COLLECTOR_DESCRIBE_H
#define PENUMBRA_COLLECTOR_DESCRIBE_H

#include <stdbool.h>

#include "collector/record_files.h"
#include "profile/profile.h"
#include "sigsafe/settings.h"

/* kernel, cpu, cpus, and the event's name. */
bool describe_machine(struct profile *p, const struct spool_config *config, struct err *e);
/* *string = a copy of value. */
bool describe_set(char **string, const char *value, struct err *e);
/* argv as a shell would take it; malloc'ed, NULL without memory. */
char *describe_command(char **argv);
/* Copies what /tmp/perf-PID.map and jit-PID.dump of the recorded processes say, if they are of
 * their user or ours, and not older than the process. files: what is known of processes; NULL:
 * nothing, then they must have been written during the recording. Frames of generated code that has
 * a name become entities. */
bool describe_jit(struct profile *p, const struct record_files *files, struct err *e);

#endif
