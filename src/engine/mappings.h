/* What the kernel says about the memory at an address: may code there be translated, and can it change
 * unseen?
 *
 * Private memory without write permission cannot change until a system call changes its mapping, which
 * the carrier sees. All else that is executable is checked: what is writable, and what is shared,
 * because it may be writable somewhere else.
 *
 * Context: any; raw system calls. Not in two threads at once (the engine's lock).
 * Ownership: none. */
#ifndef PENUMBRA_ENGINE_MAPPINGS_H
#define PENUMBRA_ENGINE_MAPPINGS_H

#include "engine/trust.h"

struct trust_range mappings_trust_as(uint64_t address);

#endif
