/* Which of the program's memory a system call reads: for tools that want to know whether what was
 * stored is read.
 *
 * Context: called hooks, before the system call.
 * Ownership: none. */
#ifndef PENUMBRA_TOOLS_KERNEL_READS_H
#define PENUMBRA_TOOLS_KERNEL_READS_H

#include "engine/hook.h"

enum { KERNEL_READS = 3 };
struct kernel_read {
    uint64_t address, bytes;
};

/* The call with the registers in t reads at most what is in those *count pieces. False: it may read
 * anything. */
bool kernel_reads_as(const struct engine_thread *t, struct kernel_read out[KERNEL_READS],
                     unsigned *count);

#endif
