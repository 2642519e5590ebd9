/* What a recording turned out to be otherwise than asked for: sentences, which the profile keeps
 * and the caller is told.
 *
 * Context: the recording's thread, after the spool's state has become STOPPED.
 * Ownership: arguments are only read. */
#ifndef PENUMBRA_COLLECTOR_RECORD_NOTES_H
#define PENUMBRA_COLLECTOR_RECORD_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/callbacks.h"
#include "collector/record_spool.h"
#include "profile/profile.h"

struct record_outcome {
    const char *notes; /* lines: what was known at the beginning */
    bool left_behind;  /* the program has ended, and not all processes that it made */
    bool wait_all;     /* they were to be waited for */
    uint64_t damage;   /* places of the spool that the program has overwritten */
};

/* All lines, for the profile; malloc'ed, NULL without memory. */
char *record_notes_all(const struct record_outcome *r, const struct profile *p,
                       const struct record_spool *s);
/* Those that explain what is missing; and why an empty profile is empty. */
void record_notes_tell(const struct record_outcome *r, const struct profile *p,
                       const struct record_spool *s, const struct recording_callbacks *callbacks);

#endif
