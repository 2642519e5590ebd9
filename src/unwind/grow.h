/* Arrays that grow.
 *
 * Context: ordinary code. Ownership: the array is the caller's, to free. */
#ifndef PENUMBRA_UNWIND_GROW_H
#define PENUMBRA_UNWIND_GROW_H

#include <stdbool.h>
#include <stdlib.h>

/* Room for one more element of `size` bytes. */
static inline bool grow(void **at, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return true;
    size_t more = *capacity ? *capacity * 2 : 4096;
    void *bigger = reallocarray(*at, more, size);
    if (!bigger)
        return false;
    *at = bigger;
    *capacity = more;
    return true;
}

#endif
