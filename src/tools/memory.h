/* Memory for what tools keep beside the spool, and of the program: where an operand is.
 *
 * Context: any; a raw system call.
 * Ownership: the caller's; it is seldom given back, because threads' areas are used again. */
#ifndef PENUMBRA_TOOLS_MEMORY_H
#define PENUMBRA_TOOLS_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "engine/hook.h"
#include "sigsafe/own_memory.h"
#include "sigsafe/sys.h"
#include "sigsafe/tuples.h"

/* `size` zero bytes, which cost no memory before they are touched; NULL without address space. */
static inline void *memory_map_as(uint64_t size)
{
    long base = own_map_as(0, size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    return sys_failed(base) ? NULL : (void *)base;
}

static inline uint64_t memory_fs_base_as(void)
{
    uint64_t base;
    __asm__ volatile("rdfsbase %0" : "=r"(base)); /* FSGSBASE: without it there is no engine */
    return base;
}

/* The address of an operand, before the instruction. */
static inline uint64_t memory_address_as(const struct engine_thread *t,
                                         const struct tuple_memory *m)
{
    uint64_t sum = (uint64_t)m->disp;
    if (m->base < 16)
        sum += hook_register(t, m->base);
    if (m->index < 16)
        sum += hook_register(t, m->index) * m->scale;
    if (m->add8 < 16)
        sum += t->gpr[m->add8] & 0xff;
    if (m->address32)
        sum = (uint32_t)sum;
    return m->segment ? sum + memory_fs_base_as() : sum;
}

#endif
