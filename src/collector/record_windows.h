/* When checks that have a switch (docs/instrumentation.md, check=switched) are executed: in windows
 * of time, or until the next sample whenever a timer says so.
 *
 *     switch   ──┐  ┌──┐            ┌─┐          of windows 1 to 3 ms long, each apart from the next
 *                └──┘  └────────────┘ └─────     by what makes them one part in `windows` of all
 *
 * Gaps are drawn around what brings the open time back to its part, so that a late thread of ours
 * changes neither the part nor what the program happens to do in windows.
 *
 * Context: the collector's ordinary code; a thread of its own opens and closes.
 * Ownership: the caller's, whose spool outlives it. */
#ifndef PENUMBRA_COLLECTOR_RECORD_WINDOWS_H
#define PENUMBRA_COLLECTOR_RECORD_WINDOWS_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sigsafe/settings.h"

struct record_windows {
    struct inst_settings *settings; /* NULL: it has not been started */
    uint32_t *page;                 /* whose first word is the switch */
    pthread_t thread;
    sem_t stopped;
    uint64_t random;
};

/* Whether the settings ask for it: else the switch follows the interval alone. */
static inline bool record_windows_wanted(const struct inst_settings *s)
{
    return s->windows > 1 || s->timer_us;
}

bool record_windows_start(struct record_windows *w, struct inst_settings *settings, uint32_t *page,
                          struct err *e);

/* The switch stays as it is. */
void record_windows_stop(struct record_windows *w);

#endif
