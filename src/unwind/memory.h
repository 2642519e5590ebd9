/* Reading memory that may not be there, without faulting.
 *
 *     [low, low + span)   known readable: the stack from the sample's rsp up: a compare and a load.
 *     anything else       the page is probed once a walk by a system call that reads 8 bytes of it
 *                         and has no effect: rt_sigprocmask with an invalid `how` copies the set
 *                         first (EFAULT), and only then looks at `how` (EINVAL).
 *
 * A page that another thread unmaps between the probe and the load still faults; stacks and the
 * code of loaded images do not go away while a thread runs on them.
 *
 *
 * In another process, all reads go through unwind_thread.fetch.
 *
 * Context: signal handlers. Ownership: borrows the thread's page slots. */
#ifndef PENUMBRA_UNWIND_MEMORY_H
#define PENUMBRA_UNWIND_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/unwind.h"

struct unwind_memory {
    uint64_t low;
    uint64_t span; /* an 8-byte read at low + i is known to be good if i < span */
    struct unwind_thread *thread;
    bool pages_fresh; /* thread->page belongs to this walk */
};

/* rsp: the stack pointer at the sample. */
void unwind_memory_init_as(struct unwind_memory *m, struct unwind_thread *thread, uint64_t rsp);

/* Whether the 8 bytes at address can be read. */
bool unwind_memory_probe_as(struct unwind_memory *m, uint64_t address);

/* Not checked by AddressSanitizer: other functions' frames are none of its business here. */
__attribute__((no_sanitize("address"))) static inline uint64_t
unwind_memory_load_as(uint64_t address)
{
    /* Stack slots are nearly always aligned, but nothing makes hand-written code keep them so. */
    return ((const struct { uint64_t v; } __attribute__((packed, may_alias)) *)address)->v;
}

/* Of an address that is not known to be readable. */
bool unwind_memory_read_beyond_as(struct unwind_memory *m, uint64_t address, uint64_t *value);

static inline bool unwind_memory_read_as(struct unwind_memory *m, uint64_t address, uint64_t *value)
{
    if (__builtin_expect(address - m->low >= m->span, 0))
        return unwind_memory_read_beyond_as(m, address, value);
    *value = unwind_memory_load_as(address);
    return true;
}

#endif
