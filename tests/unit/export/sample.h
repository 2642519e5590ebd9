/* Profiles made by hand for the tests of export, with symbols to match: an implementation of
 * symbols.h that knows names by number, so that what an export must contain is known.
 *
 * Ownership: sample_build's result is released with sample_free. */
#ifndef PENUMBRA_TESTS_EXPORT_SAMPLE_H
#define PENUMBRA_TESTS_EXPORT_SAMPLE_H

#include <stdint.h>

#include "profile/profile.h"
#include "symbols/symbols.h"

/* "hand": one process, two threads, and all that is awkward: recursion, inlining, truncated and
 * unattributed stacks, JIT code, names with separators in them, images that overlap nowhere.
 * "processes": the same tree in two processes. "random": 20,000 nodes from a fixed seed.
 * "events": as hand, for a trigger that is no time. "deep": a chain of 5,000 calls.
 * "timeline": the second process is a child of the first; its main thread has a timeline, a phase
 * and drops. */
struct profile *sample_build(const char *which);
void sample_free(struct profile *p);

/* sample_symbols is what symbols_find & co. want here. */
const struct symbols *sample_symbols(void);

#endif
