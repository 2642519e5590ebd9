/* What the trigger malloc has not seen, in words: memory that the program maps itself, and growth
 * that the allocations do not explain.
 *
 * Context: ordinary code. Ownership: the caller's buffer. */
#ifndef PENUMBRA_COLLECTOR_RECORD_HEAP_H
#define PENUMBRA_COLLECTOR_RECORD_HEAP_H

#include "base/buf.h"
#include "profile/profile.h"

/* Sentences, one a line, none if there is nothing to say. */
void record_heap_put(struct buf *b, const struct profile *p);

#endif
