/* The recordings that a profile is made of: one, or those that were merged. Their times are on one
 * axis, which is the time in which at least one of them ran: what lay between them is left out.
 *
 *      recordings   |--a--|      |----b----|         real time
 *                             |--c--|
 *      axis         |--a--|----b----|                c begins before b, b later by what c ran alone
 *                         |--c--|
 *
 * Where a recording begins on the axis depends on which recordings there are, not on the order in
 * which they were merged.
 *
 * Context: ordinary code.
 * Ownership: a struct profile owns its recordings. */
#ifndef PENUMBRA_PROFILE_RECORDINGS_H
#define PENUMBRA_PROFILE_RECORDINGS_H

#include <stdbool.h>
#include <stdint.h>

struct profile;

struct profile_recording {
    uint64_t start_realtime_ns, duration_ns;
};

/* Where recording `index` of the profile begins on its axis; the profile's own start and duration
 * are those of the one recording of a profile without a list. In order of their starts, as the list
 * is. */
struct profile_axis {
    uint64_t *begin_ns;
    uint64_t duration_ns; /* of the axis */
};
/* begin_ns is the caller's to free; NULL without memory. */
struct profile_axis profile_axis_of(const struct profile_recording *list, uint32_t count);

/* The recordings of both, and how each profile's processes are renumbered and moved. */
struct recordings_merge {
    struct profile_recording *list;
    uint32_t count;
    uint32_t *number;   /* of the processes of `into`, then of those of `from` */
    uint64_t *later_ns; /* by how much their times move */
    struct profile_axis axis;
};
bool recordings_merge(const struct profile *into, const struct profile *from,
                      struct recordings_merge *out);
/* What of it has not been taken. */
void recordings_merge_fini(struct recordings_merge *m);

#endif
