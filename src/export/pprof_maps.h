/* Where the images of a profile are said to have been in memory, for formats that want run-time
 * addresses although a profile keeps link-time ones.
 *
 * With one process, the addresses it really had are used, as long as they do not overlap. With
 * several processes, or after a dlclose and dlopen that reused addresses, one address would mean
 * two things; then images get disjoint made-up ranges, one after the other:
 *
 *     0x10000000             +size, rounded up          +1 MiB
 *     | image 0 (its program) |.......................| image 1 ...
 *
 * Context: ordinary code.
 * Ownership: pprof_maps_build returns an array to free(), one element an image. */
#ifndef PENUMBRA_EXPORT_PPROF_MAPS_H
#define PENUMBRA_EXPORT_PPROF_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

struct pprof_map {
    uint64_t start, limit;
    uint64_t bias; /* address = bias + link-time address */
    bool used;     /* a location lies in it; the four below say what is known of some location */
    bool functions, files, lines, inlines;
};

/* NULL without memory. An image whose locations lie outside first_vaddr .. last_vaddr widens. */
struct pprof_map *pprof_maps_build(const struct profile *p);

/* The image's number in the order in which mappings are written: the main program first. */
uint32_t pprof_maps_main(const struct profile *p);

#endif
