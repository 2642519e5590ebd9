/* What this machine allows: which trigger works, at what cost. Found out by trying it on the
 * collector itself, with the very attributes that the runtime will use in the program.
 *
 * Context: the main thread, before the program is started. SIGTRAP's and the timer signal's
 * dispositions are changed and put back.
 * Ownership: notes are appended to the caller's buffer. */
#ifndef PENUMBRA_COLLECTOR_RECORD_PROBE_H
#define PENUMBRA_COLLECTOR_RECORD_PROBE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "collector/record_events.h"
#include "sigsafe/settings.h"

/* Fills the trigger's part of *config: trigger, mechanism, perf_type, perf_config, signal,
 * exclude_kernel, period. Appends to *notes, a line each, what could not be had. False if the event
 * cannot be had at all. */
bool record_probe_trigger(const struct record_events *events, uint32_t carrier,
                          struct spool_config *config, struct buf *notes, struct err *e);

/* With --kernel: why stacks have no part in the kernel, if they have none. */
void record_probe_kernel(const struct spool_config *config, struct buf *notes);

/* The clock and the time stamp counter at one moment. */
struct record_clocks {
    uint64_t ns, ticks;
};

void record_clocks_read(struct record_clocks *c);

/* Fills tsc_hz, from what has passed since `began` (a millisecond at least), and delivery_ns, which
 * takes some milliseconds; but not for the carrier exact, which takes no samples. */
uint64_t record_calibrate(struct spool_config *config, const struct record_clocks *began);

#endif
