/* Hand-made profiles for tests: functions are called "a" to "z" (JIT code at known addresses, so
 * that no file is needed), trees are written as text.
 *
 * Ownership: profile_free releases the result. */
#ifndef PENUMBRA_TESTS_REPORT_MAKE_PROFILE_H
#define PENUMBRA_TESTS_REPORT_MAKE_PROFILE_H

#include "profile/profile.h"

/* One process, no thread yet. Names of functions may be replaced before symbols are loaded. */
struct profile *make_profile(void);

/* Adds a thread whose tree is given by its call paths, "abc 3" (a calls b calls c: 3 samples), in
 * any number, separated by "; ". Sample weights are 1. */
void make_thread(struct profile *p, int tid, const char *name, const char *paths);

/* Adds a thread with one path of `levels` frames of a, with `each` samples in every one. */
void make_deep_thread(struct profile *p, int tid, uint32_t levels, uint64_t each);

#endif
