/* The line on the terminal while a recording goes on, and the summary after it.
 *
 * Context: the main thread. Writes to standard error only.
 * Ownership: nothing. */
#ifndef PENUMBRA_CLI_LIVE_LINE_H
#define PENUMBRA_CLI_LIVE_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "collector/callbacks.h"
#include "profile/profile.h"

struct live_line {
    size_t widest; /* columns in use; 0: nothing is shown */
};

/* Keeps silent while another process group or a full-screen program has the terminal. */
void live_line_draw(struct live_line *l, const struct recording_live *live);
void live_line_erase(struct live_line *l);

/* Cost of the handlers and of signal delivery, in percent of the CPU time of the program, if that
 * is known; whether that is more than the budget (0: there is none). */
void put_overhead(struct buf *b, const struct profile_totals *t, double spent_ns,
                  uint32_t budget_ppm);

/* " (late 3, spool-full 12)", or nothing. */
void put_drops(struct buf *b, const uint64_t drops[DROP_COUNT]);

#endif
