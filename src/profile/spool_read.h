/* From a spool (sigsafe/spool.h) to a profile: at the end of a recording, while it runs (a
 * snapshot), and after everyone has died (recovery). The spool is hostile: the profiled program
 * could have written anything anywhere in it.
 *
 * Context: ordinary code. The spool may be written to concurrently.
 * Ownership: the result belongs to the caller (profile_free). The spool is only read. */
#ifndef PENUMBRA_PROFILE_SPOOL_READ_H
#define PENUMBRA_PROFILE_SPOOL_READ_H

#include "profile/profile.h"
#include "sigsafe/spool.h"

/* Fills images, processes, threads, drops and what the spool's config says. Leaves command, kernel,
 * cpu, duration, exit_status and notes to the caller. References out of bounds, cycles and lists
 * longer than the spool can hold are cut there and counted in *damage (may be NULL). NULL only when
 * the header is unusable or memory runs out.
 *
 * s->mapped must not exceed the size of the file behind the mapping. A process that did not say
 * goodbye is PROFILE_END_RUNNING here: only the caller can know whether it was killed. Counts that
 * are being written may lag behind each other by a few samples. */
struct profile *profile_from_spool(const struct spool *s, uint64_t *damage, struct err *e);

/* Totals only, cheaply, for the live line: no trees are read. */
void spool_totals(const struct spool *s, struct profile_totals *out, uint32_t *processes,
                  uint32_t *threads);

#endif
