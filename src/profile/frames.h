/* The distinct frames of a profile's trees, sorted, so that a node in a file is a small number.
 *
 * Context: ordinary code.
 * Ownership: frames_free releases what frames_add allocated. A zeroed struct is empty. */
#ifndef PENUMBRA_PROFILE_FRAMES_H
#define PENUMBRA_PROFILE_FRAMES_H

#include "profile/profile.h"

/* An image as a number that sorts: 0 pseudo, 1 none, 2 + index otherwise. */
#define FRAME_IMAGE_PSEUDO 0u
#define FRAME_IMAGE_NONE 1u
#define FRAME_IMAGE_FIRST 2u
_Static_assert((uint32_t)(PROFILE_IMAGE_NONE + FRAME_IMAGE_FIRST) == FRAME_IMAGE_NONE &&
                   (uint32_t)(PROFILE_IMAGE_PSEUDO + FRAME_IMAGE_FIRST) == FRAME_IMAGE_PSEUDO,
               "adding 2 maps profile_node.image to the number, subtracting 2 maps it back");

struct frame {
    uint64_t offset;
    uint32_t image; /* FRAME_IMAGE_* */
    uint32_t guessed;
};

struct frames {
    struct frame *frames; /* in order of arrival */
    struct frame *sorted; /* after frames_sort */
    uint32_t count, capacity;
    uint32_t *slots; /* hash table: position of arrival + 1, or 0 */
    uint32_t slot_count; /* a power of two */
    uint32_t *rank;  /* after frames_sort: position of arrival -> position in sorted */
};

static inline struct frame frame_of(const struct profile_node *n)
{
    return (struct frame){n->offset, n->image + FRAME_IMAGE_FIRST, n->guessed};
}

/* By image, offset, guessed; as qsort wants it. */
int frame_compare(const void *a, const void *b);

/* *arrival: the node's frame's position of arrival. False: out of memory, or 2^32 frames. */
bool frames_add(struct frames *f, const struct profile_node *n, uint32_t *arrival);
bool frames_sort(struct frames *f);
void frames_free(struct frames *f);

#endif
