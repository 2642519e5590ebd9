/* Address streams from a spool (sigsafe/spool_streams.h), for spool_counts.c. As hostile as all of it.
 *
 * Context: ordinary code. The spool may be written to concurrently.
 * Ownership: the caller's view. */
#ifndef PENUMBRA_PROFILE_READ_STREAMS_H
#define PENUMBRA_PROFILE_READ_STREAMS_H

#include "profile/spool_view.h"
#include "sigsafe/spool_streams.h"

/* Calls row() with each id that was executed or accessed. *rows: how many may still be looked at; *missed
 * grows by the accesses for which there was no room. False without memory, or when row() says so. */
bool spool_streams_read(struct spool_view *v, const struct spool_counts *record, uint64_t *rows,
                        bool (*row)(void *data, uint32_t id, const struct spool_stream *stream),
                        void *data, uint64_t *missed);

#endif
