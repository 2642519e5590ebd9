/* Large structures, cleared and copied byte by byte: for an initializer or an assignment of them
 * compilers call memset and memcpy, which may touch vector registers that are still the program's.
 *
 * Context: any; async-signal-safe.
 * Ownership: none. */
#ifndef PENUMBRA_SIGSAFE_BYTES_H
#define PENUMBRA_SIGSAFE_BYTES_H

#include <stddef.h>

static inline void bytes_clear_as(void *to, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)to)[i] = 0;
}

static inline void bytes_copy_as(void *to, const void *from, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)to)[i] = ((const unsigned char *)from)[i];
}

#endif
