/* Which instructions of the kernel samples are of: in trees, all of a function's are one place.
 *
 *     nodes with addresses ──take──> address, samples
 *     nodes with entities  ──keep──> of functions with many: all instructions, as hits
 *
 * Context: ordinary code.
 * Ownership: zeroed, it is empty; machine_hits_free releases it. */
#ifndef PENUMBRA_COLLECTOR_MACHINE_HITS_H
#define PENUMBRA_COLLECTOR_MACHINE_HITS_H

#include "collector/machine/machine_code.h"
#include "collector/machine/machine_kernel.h"
#include "profile/hits.h"

enum {
    MACHINE_HITS_SHARE = 100, /* a function has one in so many of the kernel's samples, or more */
    MACHINE_HITS_CODE = 4096, /* bytes of its code that are read */
};

struct machine_hits {
    struct machine_hit {
        uint64_t address, weight;
    } *list;
    uint32_t count, capacity;
    struct profile_hit *kept;
    uint32_t kept_count, kept_capacity;
};

/* Before the kernel's addresses have become entities. False without memory, as the others. */
bool machine_hits_take(struct machine_hits *h, const struct profile *p);
/* Into the profile. code NULL: instructions without samples are not known, and none has a text. */
bool machine_hits_keep(struct machine_hits *h, struct profile *p,
                       const struct machine_symbols *symbols, struct machine_code *code);
void machine_hits_free(struct machine_hits *h);

#endif
