/* Sorting what is mostly in order: lists that were written in order, and one such list behind
 * another.
 *
 * Context: ordinary code.
 * Ownership: the array is the caller's. */
#ifndef PENUMBRA_BASE_SORT_H
#define PENUMBRA_BASE_SORT_H

#include <stddef.h>

/* As qsort does; base may be NULL where count is 0. An array in order is only looked through. Two
 * ascending runs are merged, equal elements of the first one first, if there is memory. */
void sort_runs(void *base, size_t count, size_t size, int (*compare)(const void *, const void *));

#endif
