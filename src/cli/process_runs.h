/* Whether a process is there, or only its number.
 *
 * Context: ordinary code. */
#ifndef PENUMBRA_CLI_PROCESS_RUNS_H
#define PENUMBRA_CLI_PROCESS_RUNS_H

#include <stdbool.h>
#include <stdint.h>

/* A process that has exited but was not waited for still has its number: it does not run. */
bool process_runs(int32_t pid);

#endif
