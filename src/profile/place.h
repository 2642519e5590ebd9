/* What tables of code begin with, and are sorted by.
 *
 * Context: ordinary code. */
#ifndef PENUMBRA_PROFILE_PLACE_H
#define PENUMBRA_PROFILE_PLACE_H

#include <stddef.h>
#include <stdint.h>

/* image: as in profile_node. process: index of the process, of code that is in no image; else 0. In
 * the order of (image + FRAME_IMAGE_FIRST, process, offset). */
struct profile_place {
    uint32_t image, process;
    uint64_t offset; /* link-time address */
};
#define PROFILE_PLACE_FIRST(type)                                                                  \
    _Static_assert(offsetof(type, image) == offsetof(struct profile_place, image) &&               \
                       offsetof(type, process) == offsetof(struct profile_place, process) &&       \
                       offsetof(type, offset) == offsetof(struct profile_place, offset),           \
                   "it begins with a place")

#endif
