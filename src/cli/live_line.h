/* The line on the terminal while a recording goes on, and the summary after it.
 *
 * Context: the main thread. Writes to standard error only.
 * Ownership: nothing. */
#ifndef PENUMBRA_CLI_LIVE_LINE_H
#define PENUMBRA_CLI_LIVE_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "profile/profile.h"
#include "sigsafe/spool.h"

struct live_line {
    bool on;
    size_t widest; /* columns in use; 0: nothing is shown */
    uint64_t last_ns;
};

void live_line_init(struct live_line *l, bool quiet, uint64_t now_ns);
/* Draws anew when a quarter of a second has passed. Keeps silent while another process group or a
 * full-screen program has the terminal. */
void live_line_draw(struct live_line *l, const struct spool *s, uint64_t now_ns,
                    uint64_t elapsed_ns);
void live_line_erase(struct live_line *l);

/* Cost of the handlers and of signal delivery, in percent of the CPU time of the program, if that
 * is known; whether that is more than the budget (0: there is none). */
void put_overhead(struct buf *b, const struct profile_totals *t, double spent_ns,
                  uint32_t budget_ppm);

/* "1 process", "3 processes". */
void put_count(struct buf *b, uint64_t n, const char *one, const char *many);
/* " (late 3, spool-full 12)", or nothing. */
void put_drops(struct buf *b, const uint64_t drops[DROP_COUNT]);

#endif
