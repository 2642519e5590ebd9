/* Changing a recording while it runs, from another process (`penumbra control`).
 *
 * Context: the main thread.
 * Ownership: nothing is kept. */
#ifndef PENUMBRA_COLLECTOR_CONTROL_H
#define PENUMBRA_COLLECTOR_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* The interval of compiled-in instrumentation (sigsafe/spool_inst.h), in the recording that the
 * process `pid` belongs to: of all of its processes. 0: bursts are off. */
bool control_interval(int pid, uint32_t interval, struct err *e);

#endif
