/* Counted paths from a spool (sigsafe/spool_paths.h), for spool_counts.c. As hostile as all of it.
 *
 * Context: ordinary code. The spool may be written to concurrently.
 * Ownership: the caller's view and paths. */
#ifndef PENUMBRA_PROFILE_SPOOL_PATHS_H
#define PENUMBRA_PROFILE_SPOOL_PATHS_H

#include "profile/paths.h"
#include "profile/spool_view.h"
#include "sigsafe/spool_paths.h"

/* What the reader asks about block ids. */
struct spool_paths_user {
    /* The index of the block; UINT32_MAX: there is none of this id. False without memory. */
    bool (*block)(void *data, uint32_t id, uint32_t *index);
    /* It was executed so often more. */
    void (*count)(void *data, uint32_t index, uint64_t count);
    void *data;
};

/* Adds the paths of one process. *entries: how many may still be looked at. False without memory. */
bool spool_paths_read(struct spool_view *v, const struct spool_counts *record, uint64_t *entries,
                      const struct spool_paths_user *user, struct profile_paths *to);

#endif
