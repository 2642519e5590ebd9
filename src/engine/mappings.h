/* What the kernel says about the memory at an address: may code there be translated, and can it
 * change unseen?
 *
 * Private memory without write permission cannot change until a system call changes its mapping,
 * which the carrier sees. All else that is executable is checked: what is writable, and what is
 * shared, because it may be writable somewhere else.
 *
 * Context: any; raw system calls. Not in two threads at once (the engine's lock).
 * Ownership: none. */
#ifndef PENUMBRA_ENGINE_MAPPINGS_H
#define PENUMBRA_ENGINE_MAPPINGS_H

#include <stdbool.h>

#include "engine/trust.h"

struct mapping {
    uint64_t lo, hi;
    bool readable, writable, executable, shared;
};

/* Called for each mapping of the process, in order, until it answers false. It may change the one
 * that it is given. */
typedef bool mapping_function(void *data, const struct mapping *m);
/* False: not all were seen. */
bool mappings_each_as(mapping_function *each, void *data);
/* Only those that are the process's own and that a fork leaves out (MADV_DONTFORK). The kernel
 * counts pages for that: some milliseconds where there are many mappings. Not in two threads at
 * once. */
bool mappings_kept_each_as(mapping_function *each, void *data);

/* From now on /proc is this descriptor's (O_PATH), which is ours to keep: the program enters
 * another root. -1: none any more. */
void mappings_hold(int proc);
int mappings_held_as(void);
/* From now on this descriptor of /proc/self/maps, which is ours to keep, serves where none can be
 * opened (the program has used up all that it may have); in this process only. -1: none any
 * more. */
void mappings_keep(int maps);
int mappings_kept_as(void);
/* False: nothing can be said of any address (there is no /proc, or no descriptor is left). */
bool mappings_readable_as(void);
/* Whether the program may write there; true, too, where nothing can be said. */
bool mappings_writable_as(uint64_t address);
struct trust_range mappings_trust_as(uint64_t address);

#endif
