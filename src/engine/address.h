/* Where code is: the program's own, and its translation. Two types, so that the compiler keeps them
 * apart.
 *
 * Context: constants only. */
#ifndef PENUMBRA_ENGINE_ADDRESS_H
#define PENUMBRA_ENGINE_ADDRESS_H

#include <stdint.h>

/* An address in the program's code. */
struct program_pc {
    uint64_t value;
};

/* A place in the code cache, as its distance from the start. 0: none. */
struct cache_pc {
    uint32_t offset;
};

static inline struct program_pc program_pc(uint64_t value)
{
    return (struct program_pc){ value };
}

static inline struct cache_pc cache_pc(uint32_t offset)
{
    return (struct cache_pc){ offset };
}

#endif
