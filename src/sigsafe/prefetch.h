/* Asking the caches for a line. An address may be any: nothing is read, nothing faults.
 *
 * Not __builtin_prefetch: gcc counts it as no effect, and leaves out calls of functions that do
 * nothing else.
 *
 * Context: any. */
#ifndef PENUMBRA_SIGSAFE_PREFETCH_H
#define PENUMBRA_SIGSAFE_PREFETCH_H

#include <stddef.h>

static inline void prefetch_read(const void *at)
{
    __asm__ volatile("prefetcht0 %0" : : "m"(*(const char *)at));
}

static inline void prefetch_write(const void *at)
{
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)at));
}

#endif
