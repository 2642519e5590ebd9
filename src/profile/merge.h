/* Two profiles into one.
 *
 * Context: ordinary code.
 * Ownership: both stay the caller's, but trees and the like move from one to the other: `from` is
 * fit for profile_free only, and after a failure `into` is, too, unless the profiles were refused
 * as different. */
#ifndef PENUMBRA_PROFILE_MERGE_H
#define PENUMBRA_PROFILE_MERGE_H

#include "profile/profile.h"

/* Adds the processes, threads, images and counts of `from` to `into`, or to that part of it which
 * has the same key; what has no counterpart becomes a part (parts.h). Those of one key must have
 * the same trigger, unit and period, or their counts would not mean the same: else ERR_USAGE, and
 * both are as before. Images are the same if their build-ids are, or, without, if path, size and
 * time are. Recordings are put on one time axis (recordings.h). */
bool profile_merge(struct profile *into, struct profile *from, struct err *e);

/* Replaces all threads by one that holds the sum of their trees and counters, in the first thread's
 * process and in no phase.
 * Frames in no image that have no name are summed by address, whatever process they are from. */
bool profile_sum_threads(struct profile *p, struct err *e);

/* Makes one of siblings in the thread's tree that are the same, and sorts them. False without
 * memory: the thread is as before. */
bool profile_thread_settle(const struct profile *p, struct profile_thread *t);

/* Makes one of threads with the same process, phase and number: of a thread that was counted from
 * two sides. */
bool profile_join_threads(struct profile *p, struct err *e);

#endif
