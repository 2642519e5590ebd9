/* A 64 kB ring for a thread, aligned to its size, so that a 16-bit addition wraps.
 *
 * Context: thread_begin of a tool.
 * Ownership: the ring stays with the thread area. */
#ifndef PENUMBRA_TOOLS_RING_H
#define PENUMBRA_TOOLS_RING_H

#include <stdbool.h>

#include "engine/thread.h"

/* Makes t->ring point to the thread's ring. */
bool ring_begin_as(void *data, struct engine_thread *t);

#endif
