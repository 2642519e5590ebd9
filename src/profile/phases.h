/* Phases of a profile: their names for people, and a profile of one of them.
 *
 * Context: ordinary code.
 * Ownership: what is returned is to free(). */
#ifndef PENUMBRA_PROFILE_PHASES_H
#define PENUMBRA_PROFILE_PHASES_H

#include "profile/profile.h"

/* "outer/inner" of the phase at `index`; NULL without memory. */
char *profile_phase_path(const struct profile *p, uint32_t index);

/* Whether the phase at `index` is meant by `name`: it, or a phase that it is nested in, has this
 * name or this path. */
bool profile_phase_is(const struct profile *p, uint32_t index, const char *name);

/* Keeps only the threads' trees of phases that `name` means. ERR_USAGE if there is no such phase:
 * the message lists those there are. */
bool profile_keep_phase(struct profile *p, const char *name, struct err *e);

/* Threads, each counted once however many phases it was sampled in. */
uint32_t profile_thread_total(const struct profile *p);

#endif
