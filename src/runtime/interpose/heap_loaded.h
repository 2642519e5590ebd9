/* Allocations of libraries that the search for symbols does not lead to us: loaded with
 * RTLD_DEEPBIND, or into a namespace of their own by dlmopen.
 *
 *     library: call malloc@plt ──> [GOT entry] ──> some malloc        as the loader has bound it
 *                                       └────────> malloc_1 ──────> the same one
 *
 * The entries are redirected before the program can look for a function in such a library: when it
 * calls dlsym, dlopen or dlmopen and images have been loaded since. Each function that an entry led
 * to has a slot, so that every call reaches the allocator that it would have reached. What a
 * library allocates in its constructors, and what it calls through pointers that it has kept, is
 * not seen.
 *
 * Namespaces are found in the list that the loader keeps for debuggers, which has them from glibc
 * 2.35 on.
 *
 * Context: ordinary code; takes the loader's lock. Other threads may be calling through the
 * entries.
 * Ownership: none; the entries are the images'. */
#ifndef PENUMBRA_RUNTIME_INTERPOSE_HEAP_LOADED_H
#define PENUMBRA_RUNTIME_INTERPOSE_HEAP_LOADED_H

#include <stdbool.h>

struct unwind_image;

/* The images that are there now lead to us already. */
void heap_loaded_begin(void);
/* Whether the image, of the current index, has a malloc that an entry led to. */
bool heap_loaded_holds(const struct unwind_image *image);

#endif
