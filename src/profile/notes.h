/* The lines that tell the user what he should know of a profile.
 *
 * Context: ordinary code. */
#ifndef PENUMBRA_PROFILE_NOTES_H
#define PENUMBRA_PROFILE_NOTES_H

#include "profile/profile.h"

/* Adds each of the lines that is not there. False without memory. */
bool profile_note(struct profile *p, const char *lines);

#endif
