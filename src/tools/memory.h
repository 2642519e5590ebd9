/* Memory for what tools keep beside the spool.
 *
 * Context: any; a raw system call.
 * Ownership: the caller's; it is seldom given back, because threads' areas are used again. */
#ifndef PENUMBRA_TOOLS_MEMORY_H
#define PENUMBRA_TOOLS_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "sigsafe/own_memory.h"

/* `size` zero bytes, which cost no memory before they are touched; NULL without address space. */
static inline void *memory_map_as(uint64_t size)
{
    long base = own_map_as(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    return base < 0 && base > -4096 ? NULL : (void *)base;
}

#endif
