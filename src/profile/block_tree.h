/* Profiles that have no calling contexts, but executions of blocks.
 *
 * Context: ordinary code.
 * Ownership: what is made is the profile's. */
#ifndef PENUMBRA_PROFILE_BLOCK_TREE_H
#define PENUMBRA_PROFILE_BLOCK_TREE_H

#include "profile/profile.h"

/* Only where there are no calling contexts: instructions and samples do not add up. What was
 * charged to no context, as merged periods are under every carrier, makes none. */
bool profile_is_of_blocks(const struct profile *p);

/* Makes such a profile one of samples: each block, with all its instructions, a call path of one
 * frame, and threads one for each process that blocks are of. Other profiles stay as they are.
 * False without memory. */
bool profile_blocks_as_samples(struct profile *p, struct err *e);

#endif
