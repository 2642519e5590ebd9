/* Which of the program's memory a system call reads: for tools that want to know whether what was
 * stored is read.
 *
 * Context: called hooks, before the system call.
 * Ownership: none. */
#ifndef PENUMBRA_TOOLS_KERNEL_READS_H
#define PENUMBRA_TOOLS_KERNEL_READS_H

#include "engine/hook.h"

/* The call with the registers in t reads so many bytes there at most, and nothing else; *bytes
 * may be 0. False: it may read anything. */
bool kernel_reads_as(const struct engine_thread *t, uint64_t *address, uint64_t *bytes);

#endif
