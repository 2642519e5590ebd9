/* What the processes of a program cost beside what their runtimes see of it: the loader maps and
 * relocates the runtime's library, the kernel copies its mappings at each fork, and takes them and
 * the events down at the end. Where a program makes many, that is measured once it has ended, in a
 * recording of its own:
 *
 *     /bin/sh -c :                recorded - native - its account   = the shell
 *     /bin/sh -c '(:); (:) ...'   the same, less the shell          = processes that are forked
 *     /bin/sh -c 'sh -c :; ...'   the same, less the shell          = programs that are executed
 *
 * Context: the main thread, after the program has ended.
 * Ownership: nothing outlives the call. */
#ifndef PENUMBRA_COLLECTOR_RECORD_PROCESSES_H
#define PENUMBRA_COLLECTOR_RECORD_PROCESSES_H

#include "collector/callbacks.h"
#include "collector/record_spool.h"
#include "sigsafe/settings.h"

struct record_processes {
    uint64_t executed, forked; /* programs and processes that the recording has seen begin */
    /* all of them together; 0: they are few, or it could not be measured */
    uint64_t ns;
};

/* config, tsc_hz: as the collector has made them, not those in s, which the program can write to.
 * directory, output: as record_spool_create takes them, for the spool of what is measured. */
struct record_processes record_processes_cost(const struct spool *s,
                                              const struct spool_config *config, uint64_t tsc_hz,
                                              const char *directory, const char *output,
                                              const struct recording_callbacks *callbacks);

#endif
