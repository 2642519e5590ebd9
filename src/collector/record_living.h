/* The recorded processes that may still run. A recording may have had a hundred thousand that do
 * not: what is done again and again is done for these only.
 *
 *     spool      newest ──> ... ──> oldest        every record
 *     list       oldest ... newest                without those that have ended
 *
 * A record ends with exit, or when the program that its process executes has one of its own. That
 * of a process which was killed stays until somebody finds out and says so.
 *
 * Context: the collector's main thread.
 * Ownership: the caller's struct; record_living_free. Records are the spool's. */
#ifndef PENUMBRA_COLLECTOR_RECORD_LIVING_H
#define PENUMBRA_COLLECTOR_RECORD_LIVING_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/spool.h"

struct record_life {
    struct spool_process *record;
    bool noted; /* by record_files.c; false at first */
};

struct record_living {
    spool_ref seen; /* the newest that is in the list, or was */
    struct record_life *list;
    uint32_t count, capacity;
};

/* Adds those that have begun, and drops those that have ended. Returns how many of the list, its
 * first, were in it before. */
uint32_t record_living_poll(struct record_living *l, const struct spool *s);
void record_living_free(struct record_living *l);

#endif
