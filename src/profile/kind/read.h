/* What the readers of all kinds of sections share.
 *
 * Context: ordinary code.
 * Ownership: a struct decoder owns its reasons and frames until decode.c ends. */
#ifndef PENUMBRA_PROFILE_KIND_READ_H
#define PENUMBRA_PROFILE_KIND_READ_H

#include "base/buf.h"
#include "profile/container.h"
#include "profile/frames.h"
#include "profile/place.h"
#include "profile/profile.h"
#include "profile/tree_sum.h"

#define REASONS_MAX 64u /* of either kind in a file */

/* A file names its reasons; their order in its vectors is its own. */
struct reason_map {
    uint32_t count;
    uint32_t known[REASONS_MAX]; /* the enumerator, or UINT32_MAX */
    char *names[REASONS_MAX];
    uint64_t unknown[REASONS_MAX]; /* counts of reasons that this version does not know */
};

/* While threads' trees are added up. */
struct read_sum {
    bool shared; /* each thread gets its share (profile/shares.h) */
    struct read_tree {
        struct tree_sum tree;
        uint32_t thread; /* the first one, which gets the sum */
    } *trees;
    uint32_t tree_count;
    struct read_summed {
        uint32_t *index_of; /* of its nodes in the tree; NULL: it keeps its own */
        uint32_t count, tree;
    } *threads;
};

struct decoder {
    struct container file;
    struct profile *p;
    struct reason_map drops, truncations;
    struct frame *frames; /* that nodes of trees refer to */
    uint32_t frame_count;
    struct read_sum *sum; /* NULL: threads keep their trees */
    struct err *e;
};

static inline uint64_t read_u64(struct cursor *c, const char *what)
{
    return cursor_uleb(c, UINT64_MAX, what);
}

static inline uint32_t read_u32(struct cursor *c, const char *what)
{
    return (uint32_t)cursor_uleb(c, UINT32_MAX, what);
}

int32_t read_i32(struct cursor *c, const char *what);
/* A string in place of another one. */
void read_string(struct cursor *c, char **to, const char *what);
/* A count for each reason of the file's, into counts[] by enumerator. */
void read_counts(struct cursor *c, struct reason_map *map, uint64_t *counts);
void write_counts(struct buf *b, const uint64_t *counts, unsigned first, unsigned end);

/* Records that there was no memory for it; the cursor has failed then. */
void read_no_memory(struct cursor *c);
/* A zeroed array of `count` (at least 1 is allocated). */
void *read_array(struct cursor *c, uint32_t count, size_t each);
/* The index of a process; fails if there is none. */
uint32_t read_process(const struct decoder *d, struct cursor *c);
/* The next image of records that are sorted by it: it is stored as a step. *rank: 0 before the
 * first. */
uint32_t read_image_step(const struct decoder *d, struct cursor *c, uint32_t *rank);
/* Of records that are not sorted by it, `count` of them, `stride` bytes apart: as its rank. */
void read_images(const struct decoder *d, struct cursor *c, uint32_t *first, uint32_t count,
                 size_t stride, const char *what);
/* Adds "COUNT WHAT 'NAME', which this version does not know" to the notes. */
bool read_note_unknown(struct decoder *d, uint64_t count, const char *what, const char *name);

/* Three columns, of records that begin with a place (profile/place.h) and are sorted by it. */
void write_places(struct buf *b, const void *records, uint32_t count, size_t each);
void read_places(const struct decoder *d, struct cursor *c, void *records, uint32_t count,
                 size_t each);
/* Whether image and process exist and the record is not before the last one. NULL: it is the
 * first. */
bool places_good(const struct profile *p, const void *record, const void *last);
/* The image alone: it may be PROFILE_IMAGE_NONE. */
bool image_exists(const struct profile *p, uint32_t image);

#endif
