/* Samples of single instructions that are entities (entities.h): of the kernel's, whose functions
 * are single places in trees.
 *
 *     tree:   ... -> do_sys_openat2          ENTITY_KERNEL, self 7
 *     hits:   do_sys_openat2 +0x0   0        ENTITY_INSTRUCTION, each instruction of the function
 *             do_sys_openat2 +0x1   5
 *             do_sys_openat2 +0x4   2
 *
 * Context: ordinary code.
 * Ownership: the profile owns its list. */
#ifndef PENUMBRA_PROFILE_HITS_H
#define PENUMBRA_PROFILE_HITS_H

#include <stdbool.h>
#include <stdint.h>

struct profile;

struct profile_hit {
    uint64_t entity;
    uint64_t weight; /* by the first metric; may be 0 */
};

/* Adds them, in any order, to the profile's, which are by entity and of one each. False without
 * memory: then nothing is added. */
bool profile_hits_add(struct profile *p, const struct profile_hit *list, uint32_t count);

#endif
