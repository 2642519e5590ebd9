/* All that the runtime asks the kernel for in a recording, beyond what the program does: a filter that lets it pass is no
 * sandbox to us.
 *
 * Context: any.
 * Ownership: the caller's. */
#ifndef PENUMBRA_RUNTIME_SANDBOX_CALLS_H
#define PENUMBRA_RUNTIME_SANDBOX_CALLS_H

#include "sigsafe/filter.h"

/* True if the filter lets all calls pass that the recording's carriers make (`engine`: bursts; `shadows`), with our arguments where
 * filters look at those; what we can do without may fail. `states` as in filter.h. */
bool sandbox_calls_pass_as(const struct sock_filter *code, uint32_t count, bool engine, bool shadows, struct filter_state *states);

#endif
