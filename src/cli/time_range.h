/* A part of the time of a recording, as people type it: --time FROM..TO, or --from and --to.
 *
 * Context: the main thread. */
#ifndef PENUMBRA_CLI_TIME_RANGE_H
#define PENUMBRA_CLI_TIME_RANGE_H

#include "profile/profile.h"

/* Keeps of the profile what lies in `text`: FROM..TO, both since the start, in seconds (or with a
 * unit) or in percent of the recording's duration; either may be left out. NULL: all of it. metric:
 * the one that is chosen besides; NULL: the first. Only that one has times. */
bool time_range_keep(struct profile *p, const char *text, const char *metric, struct err *e);

/* The text for --from and --to, of which one may be NULL. */
enum { TIME_RANGE_SIZE = 80 };
bool time_range_join(char text[TIME_RANGE_SIZE], const char *from, const char *to, struct err *e);

#endif
