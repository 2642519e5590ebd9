/* Which code of the program may be translated, and whether it can change under the translation.
 *
 * The engine asks the carrier for each block that it makes, unless an earlier answer holds; the
 * carrier answers from the image list and the process's mappings (the runtime), or from what a test
 * says.
 *
 * Context: the dispatcher, under the engine's lock, on the engine's stack. */
#ifndef PENUMBRA_ENGINE_TRUST_H
#define PENUMBRA_ENGINE_TRUST_H

#include <stdint.h>

enum trust {
    TRUST_NONE = 0,    /* not mapped, not readable or not executable: the engine stops there */
    /* may change or go at any time: its translation compares the bytes, each time */
    TRUST_CHECKED = 1,
    /* the same, but stays mapped as it is until engine_invalidate_as or engine_unmapped_as is
     * told */
    TRUST_MAPPED = 2,
    TRUST_FIXED = 3,   /* cannot change until engine_invalidate_as is told */
};

/* Addresses around the one that was asked for, all with the same answer. Code outside [lo, hi) is
 * not read without asking again. */
struct trust_range {
    uint64_t lo, hi;
    enum trust trust;
};

#endif
