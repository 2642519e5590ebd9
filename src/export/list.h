/* The order of numbers.
 *
 * Context: anywhere. */
#ifndef PENUMBRA_EXPORT_LIST_H
#define PENUMBRA_EXPORT_LIST_H

#include <stdint.h>

/* As qsort wants it. */
static inline int list_compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

#endif
