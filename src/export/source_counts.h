/* How often each instruction of a program or library was executed.
 *
 * Context: ordinary code. Safe on any profile and any image file.
 * Ownership: the caller frees the list. */
#ifndef PENUMBRA_EXPORT_SOURCE_COUNTS_H
#define PENUMBRA_EXPORT_SOURCE_COUNTS_H

#include "export/transfers.h"

struct source_count {
    uint64_t address, count;
};

struct source_counts {
    struct source_count *list; /* by address, distinct */
    uint32_t count, capacity;
    bool failed; /* no memory */
};

/* Of transfers: of all instructions of all ranges. */
void source_counts_of_transfers(struct source_counts *c, const struct binary *b,
                                const struct transfers *t);
/* Of samples: of those that were interrupted. */
void source_counts_of_samples(struct source_counts *c, const struct binary *b);

#endif
