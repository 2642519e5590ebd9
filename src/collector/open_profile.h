/* Opening a profile, whatever state its recording is in:
 *
 *   a finished file                         read
 *   a live file (profile/live.h) whose
 *     collector runs                        a snapshot of what has been counted so far
 *     collector is gone (killed)            recovered: the counters become a finished file in its
 *                                           place, the spool is removed
 *
 * Context: the main thread.
 * Ownership: the caller frees the profile with profile_free. */
#ifndef PENUMBRA_COLLECTOR_OPEN_PROFILE_H
#define PENUMBRA_COLLECTOR_OPEN_PROFILE_H

#include "base/err.h"
#include "collector/callbacks.h"
#include "profile/profile.h"

/* Where a profile is, unless a file is named: what is recorded goes there, and is read from
 * there. */
#define PROFILE_DEFAULT "penumbra.pnb"

/* A live file holds two short strings and three numbers: what is larger is none, and need not be
 * read to find that out. */
enum { LIVE_FILE_MOST = 1 << 16 };

/* callbacks, here and below: a recovery tells its progress. Never NULL. */
struct profile *open_profile(const char *path, const struct recording_callbacks *callbacks,
                             struct err *e);
/* The same of its part `observation` (profile_choose; NULL: the first), with the trigger of the
 * metric `*metric` first (profile_lead). *metric is NULL then if the metric is the first one; NULL
 * before: the first stays what it is. summing: which threads are not told apart
 * (profile_read_summed). */
struct profile *open_profile_by(const char *path, const char *observation, const char **metric,
                                enum profile_summing summing,
                                const struct recording_callbacks *callbacks, struct err *e);

/* False, with ERR_USAGE: `output` (NULL or "-": standard output) is the profile `input` itself,
 * which would be lost. */
bool output_is_apart(const char *output, const char *input, struct err *e);

enum recover_outcome { RECOVER_FAILED, RECOVER_DONE, RECOVER_NOT_NEEDED };

/* The file at `path` holds counters (sigsafe/spool.h). */
bool recover_is_spool(const char *path);

/* Recovers the live file, or the spool, at `path`. to: where the finished file goes; NULL: in place
 * (of a live file only). On
 * RECOVER_DONE and RECOVER_NOT_NEEDED *p is the profile, the caller's to free. */
enum recover_outcome recover_profile(const char *path, const char *to, struct profile **p,
                                     const struct recording_callbacks *callbacks, struct err *e);

#endif
