/* Where functions begin: by the table of their files' unwind information, which survives stripping
 * (symbols/fde_start.h).
 *
 * Context: the module's process.
 * Ownership: files that were opened stay open as long as the process. */
#ifndef PENUMBRA_MODULES_SIMULATE_FUNCTIONS_H
#define PENUMBRA_MODULES_SIMULATE_FUNCTIONS_H

#include "modules/host_internal.h"

/* key.h: the beginning of the function around the place `key`; 0: not known. */
uint64_t simulate_function(struct penumbra_host *host, uint64_t key);

#endif
