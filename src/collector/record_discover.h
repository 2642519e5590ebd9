/* Threads that nobody told the runtime about, found from outside.
 *
 * In most processes an inherited event finds them (runtime/trigger/trigger.h). A process whose
 * threads switch often has closed it, since it costs time at every switch. There the collector
 * reads now and then which threads the process has, and opens on each that is in no record the
 * event that the runtime would have: its first tick, after RT_DISCOVERY_NS of the thread's CPU
 * time, makes the thread known. Then the event is closed.
 *
 * Context: the collector's main thread, while it serves.
 * Ownership: the caller's struct; record_discover_end closes what is open. */
#ifndef PENUMBRA_COLLECTOR_RECORD_DISCOVER_H
#define PENUMBRA_COLLECTOR_RECORD_DISCOVER_H

#include <stdint.h>

#include "collector/record_living.h"
#include "sigsafe/spool.h"

struct record_watched {
    int32_t pid, tid;
    int fd; /* -1: the event was refused */
};

struct record_discover {
    struct record_watched *watched;
    uint32_t count, capacity;
    uint64_t next_ns;
};

void record_discover_poll(struct record_discover *d, const struct record_living *l,
                          const struct spool *s, uint64_t now_ns);
void record_discover_end(struct record_discover *d);

#endif
