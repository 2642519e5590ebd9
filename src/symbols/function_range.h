/* Where a file says that a function is: by its symbol tables, before anything runs.
 *
 * Context: ordinary code. Safe on any file.
 * Ownership: nothing is kept. */
#ifndef PENUMBRA_SYMBOLS_FUNCTION_RANGE_H
#define PENUMBRA_SYMBOLS_FUNCTION_RANGE_H

#include <stdbool.h>
#include <stdint.h>

/* [lo, hi), link-time addresses, of the function that the file's symbol tables call so. False: none
 * of that name has a size. */
bool symbols_function_range(const char *path, const char *name, uint64_t *lo, uint64_t *hi);

#endif
