/* For tools that observe beside `calls`: where in its tree the thread is.
 *
 * Context: called hooks, of the thread concerned. */
#ifndef PENUMBRA_TOOLS_CALLS_H
#define PENUMBRA_TOOLS_CALLS_H

#include "engine/thread.h"
#include "sigsafe/spool.h"

/* The node of the call that the thread is in, or its tree's root; 0: not known. It stays that
 * call's where a tool of the set has `in_context` (sigsafe/tools.h). */
spool_ref calls_context_as(const struct engine_thread *t);

#endif
