/* Memory that the runtime maps in the program: where it lies, so that the program's mlock() and
 * mlockall() leave it out. Most of it is reserved and never used; locked, all of it would be made.
 *
 *     the program's   ours     the program's
 *     |---------------|--------|-------------|   one mapping to the kernel, which joins neighbours
 *
 * Context: any, all threads at once. What is asked for while it changes may be answered as before
 * or after.
 * Ownership: who maps a range unmaps it. */
#ifndef PENUMBRA_SIGSAFE_OWN_MEMORY_H
#define PENUMBRA_SIGSAFE_OWN_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* mmap and munmap, as the system calls; of what is mapped is kept where it lies. It is not locked,
 * also where the program has locked all that is mapped from now on. Without an address it lies far
 * from the program's memory: the kernel would take the highest hole that is large enough, which may
 * be the one that a stack of the program's (MAP_GROWSDOWN) is to grow into. */
long own_map_as(uint64_t at, uint64_t size, long protection, long flags, int fd);
void own_unmap_as(const void *at, uint64_t size);
/* What was mapped by somebody else, as the library itself. */
void own_memory_note_as(uint64_t lo, uint64_t hi);

/* The first range of ours that has a part in [from, to): that part. False: there is none. */
bool own_memory_find_as(uint64_t from, uint64_t to, uint64_t *lo, uint64_t *hi);
/* All that there is, in bytes. */
uint64_t own_memory_bytes_as(void);

/* The program has locked what is mapped from now on (MCL_FUTURE), or not any more. A fork child has
 * not. */
void own_memory_locks_as(bool future);
bool own_memory_is_locked_as(void);

#endif
