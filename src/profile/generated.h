/* Generated code: what a process's symbols say about addresses in no image.
 *
 * An address of generated code means something in its process only. Where it has a name, a frame
 * of a tree names an entity instead (profile/entities.h), which is the same in all processes: so
 * trees of several processes add up. What was counted under the engine (blocks, edges, accesses)
 * are ranges of bytes, which stay addresses.
 *
 * Context: ordinary code. */
#ifndef PENUMBRA_PROFILE_GENERATED_H
#define PENUMBRA_PROFILE_GENERATED_H

#include "profile/profile.h"

/* NULL: nothing is known of the address. */
const struct profile_jit_symbol *profile_jit_find(const struct profile_process *process,
                                                  uint64_t address);
/* Makes entities of all frames that have a name. False without memory: the profile is fit for
 * profile_free only. */
bool profile_generated_name(struct profile *p);

#endif
