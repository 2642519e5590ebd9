/* Lists that grow while they are filled, and the order of numbers.
 *
 * Context: ordinary code.
 * Ownership: the caller frees the list. */
#ifndef PENUMBRA_EXPORT_LIST_H
#define PENUMBRA_EXPORT_LIST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Room for one more element of `each` bytes in *list. False without memory. */
static inline bool list_reserve(void **list, uint32_t count, uint32_t *capacity, size_t each)
{
    if (count < *capacity)
        return true;
    uint32_t wanted = *capacity ? *capacity * 2 : 1024;
    void *grown = wanted > *capacity ? realloc(*list, wanted * each) : NULL;
    if (!grown)
        return false;
    *list = grown;
    *capacity = wanted;
    return true;
}

/* As qsort wants it. */
static inline int list_compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

#endif
