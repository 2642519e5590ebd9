/* Counting what the trigger malloc sees given and taken: heap.c's functions, those of libraries
 * that are loaded later (heap_loaded.h), and memory that the program maps itself (heap_mapped.c).
 *
 * Context: the calling thread, in functions that it calls; signal handlers of the program too.
 * Ownership: none. */
#ifndef PENUMBRA_RUNTIME_INTERPOSE_HEAP_COUNT_H
#define PENUMBRA_RUNTIME_INTERPOSE_HEAP_COUNT_H

#include <stddef.h>

#include "runtime/interpose/heap_table.h"
#include "runtime/trigger/sync.h"

/* A sample of p. Apart, so that the way without a sample saves no registers. */
void heap_sampled(const void *p);

static inline void *heap_gave(void *p, size_t size)
{
    sync_local.calls++;
    if (p && sync_due(TRIGGER_MALLOC, size))
        heap_sampled(p);
    return p;
}

/* Where another counted function may have been called inside: `calls` is sync_local.calls before
 * it. */
static inline void *heap_gave_outer(uint64_t calls, void *p, size_t size)
{
    return sync_local.calls == calls ? heap_gave(p, size) : p;
}

static inline struct heap_sampled heap_takes(const void *p)
{
    return heap_maybe_sampled(p) ? heap_table_remove(p) : (struct heap_sampled){0, 0};
}

/* Whether the address is code of an allocator whose functions are counted. */
bool heap_is_allocator(const void *address);

#endif
