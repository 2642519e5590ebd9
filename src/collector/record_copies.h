/* What writing to a page costs that a forked process shares, and one that none shares any more: the
 * prices of a shadow's copies (docs/shadow.md, "Budget"). Measured on the collector itself, before
 * the program starts and then once a second: virtual machines have phases in which it is half as
 * much again, and one that is taken for all of a recording would allow too few forks, or too many.
 *
 * Context: the collector's main thread.
 * Ownership: its pages, until record_copies_end. */
#ifndef PENUMBRA_COLLECTOR_RECORD_COPIES_H
#define PENUMBRA_COLLECTOR_RECORD_COPIES_H

#include <stdint.h>

#include "sigsafe/settings.h"

enum { COPIES_KEPT = 9 };

/* Zero is its first state. */
struct record_copies {
    char *pages;
    /* of a page that is copied: the last ones, by count modulo their number; ... */
    uint64_t costs_ns[COPIES_KEPT];
    uint64_t reuses_ns[COPIES_KEPT]; /* ... of one that is not */
    uint64_t count;
    uint64_t looked_ns;             /* CLOCK_MONOTONIC, of the last one; 0: none yet */
};

/* Measures where that is due, which takes some milliseconds, and fills in settings->cow_ns and
 * reuse_ns: the medians of those kept, each the median of three, but the first: the least of nine,
 * as memory that the host of a virtual machine has to give first costs several times as much; at
 * first small_pages as well. Nothing where there are no shadows. */
void record_copies_poll(struct record_copies *c, uint32_t carrier,
                        struct shadow_settings *settings);

void record_copies_end(struct record_copies *c);

#endif
