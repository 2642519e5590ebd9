/* Where memory of ours lies that is made while the program runs: far from the program's. The kernel puts a new mapping into the
 * highest hole that is large enough, which may be the one that a stack of the program's (MAP_GROWSDOWN) is to grow into.
 *
 * Context: any.
 * Ownership: the caller unmaps it. */
#ifndef PENUMBRA_SIGSAFE_OWN_MAP_H
#define PENUMBRA_SIGSAFE_OWN_MAP_H

#include <stdint.h>

/* As mmap without an address, at offset 0: where the place is taken, the kernel chooses. Negative errno on failure. */
long own_map_as(uint64_t size, long protection, long flags, long fd);

#endif
