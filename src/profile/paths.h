/* Interprocedural acyclic paths: sequences of blocks, and how often each was executed from its
 * first block to its last (src/tools/path_walk.h says where paths begin and end).
 *
 *      struct profile_counts.blocks  [ b0 | b1 | b2 | b3 ... ]    count: in all paths that are kept
 *                                       ^----+    ^
 *      sequence                      [ 1  2  1  | 2  3 | ... ]
 *                                      ^ first, length 3
 *
 * Their sites are the blocks', which profile_sites visits (observations.h).
 *
 * Context: ordinary code.
 * Ownership: a struct profile owns its paths. */
#ifndef PENUMBRA_PROFILE_PATHS_H
#define PENUMBRA_PROFILE_PATHS_H

#include <stdbool.h>
#include <stdint.h>

struct profile_path {
    uint64_t count;
    uint32_t first, length; /* in `sequence`; length is not 0 */
};

struct profile_paths {
    struct profile_path *paths; /* the most executed first; equal counts by their blocks */
    uint32_t *sequence;         /* indexes into the counts' blocks */
    uint32_t count, sequence_count;
    uint32_t capacity, sequence_capacity;
    /* What was executed and is in no path above. */
    uint64_t dropped_paths, dropped, dropped_instructions; /* cold: no memory was spent on them */
    uint64_t cut, cut_instructions; /* their beginning or end was not observed */
};

struct profile; /* profile/profile.h */

struct profile_paths *profile_paths_new(void);
void profile_paths_free(struct profile_paths *p);

/* Adds a path of `length` blocks, not 0. False without memory. */
bool profile_paths_add(struct profile_paths *p, const uint32_t *blocks, uint32_t length,
                       uint64_t count);

/* NULL: none were observed. */
const struct profile_paths *profile_paths_of(const struct profile *p);

/* Executions of all paths, dropped ones included, cut ones not. */
uint64_t profile_paths_executions(const struct profile_paths *p);

#endif
