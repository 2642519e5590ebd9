/* The parts of the profile reader, shared between decode.c and decode_tree.c.
 *
 * Context: ordinary code.
 * Ownership: a struct decoder owns its sections and reasons until decode.c ends. */
#ifndef PENUMBRA_PROFILE_DECODE_H
#define PENUMBRA_PROFILE_DECODE_H

#include "profile/container.h"
#include "profile/profile.h"

#define REASONS_MAX 64u /* of either kind in a file */

/* A file names its reasons; their order in its vectors is its own. */
struct reason_map {
    uint32_t count;
    uint32_t known[REASONS_MAX]; /* the enumerator, or UINT32_MAX */
    char *names[REASONS_MAX];
    uint64_t unknown[REASONS_MAX]; /* counts of reasons that this version does not know */
};

struct decoder {
    struct container file;
    struct profile *p;
    struct reason_map drops, truncations;
    struct err *e;
};

/* Loads the section and points the cursor at its first byte. cursor->data is to free(). */
bool decode_open(struct decoder *d, enum section_type type, struct cursor *c);
/* After the section's last field: nothing may be left over. Frees its bytes. */
bool decode_close(struct cursor *c);
/* The next image of records that are sorted by it, as it is stored: a step. *rank: 0 before the first. */
uint32_t decode_image_step(const struct decoder *d, struct cursor *c, uint32_t *rank);
/* The index of a process; fails if there is none. */
uint32_t decode_process_index(const struct decoder *d, struct cursor *c);
/* A zeroed array of `count` (at least 1 is allocated); on failure *e is set. */
void *decode_array(struct cursor *c, uint32_t count, size_t each);
/* Reads sections frames and trees; the threads and their node counts are known. */
bool decode_trees(struct decoder *d);

#endif
