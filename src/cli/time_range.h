/* A part of the time of a recording, as people type it: --time FROM..TO.
 *
 * Context: the main thread. */
#ifndef PENUMBRA_CLI_TIME_RANGE_H
#define PENUMBRA_CLI_TIME_RANGE_H

#include "profile/profile.h"

/* Keeps of the profile what lies in `text`: FROM..TO, both since the start, in seconds (or with a
 * unit) or in percent of the recording's duration; either may be left out. NULL: all of it. metric:
 * the one that is chosen besides; NULL: the first. Only that one has times. */
bool time_range_keep(struct profile *p, const char *text, const char *metric, struct err *e);

#endif
