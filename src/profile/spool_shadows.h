/* From the spool's record of shadows to the profile's.
 *
 * Context: ordinary code. The spool may be written to concurrently. */
#ifndef PENUMBRA_PROFILE_SPOOL_SHADOWS_H
#define PENUMBRA_PROFILE_SPOOL_SHADOWS_H

#include "profile/shadows.h"
#include "profile/spool_view.h"

/* Adds what the record at ref says, if there is one. False without memory. */
bool spool_shadows_read(struct spool_view *v, spool_ref ref, uint64_t tsc_hz,
                        struct profile_shadows *to);

#endif
