/* Sections that this version does not know: kept, and passed on.
 *
 * Context: ordinary code.
 * Ownership: the profile owns a copy of each. */
#ifndef PENUMBRA_PROFILE_UNKNOWN_H
#define PENUMBRA_PROFILE_UNKNOWN_H

#include "profile/profile.h"

/* Adds a copy in the order of (type, contents), unless it is there. False without memory. */
bool profile_unknown_add(struct profile *p, const struct profile_unknown *u);

/* Afterwards `into` has what refers to no other section from both. What refers to others would be
 * wrong in the merged profile: it is left out, and a note says so. False without memory. */
bool profile_unknown_merge(struct profile *into, const struct profile *from);

#endif
