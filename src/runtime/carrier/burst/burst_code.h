/* Which code bursts may run, and which of it cannot change: struct engine_carrier's questions.
 *
 * Trusted is only code of a loaded image in private memory without write permission. All else is
 * checked. What the kernel said of an image's code is kept until the image goes.
 *
 * Context: burst_code_trust_as: the dispatcher, under the engine's lock. The rest:
 * ordinary code.
 * Ownership: none. */
#ifndef PENUMBRA_RUNTIME_CARRIER_BURST_BURST_CODE_H
#define PENUMBRA_RUNTIME_CARRIER_BURST_BURST_CODE_H

#include "engine/trust.h"

struct trust_range burst_code_trust_as(void *carrier, uint64_t address);

/* Each calls back for each kept range that it forgets: whose image has gone; that has part of [lo,
 * hi). */
typedef void burst_code_forgotten(uint64_t lo, uint64_t hi);
void burst_code_gone(burst_code_forgotten *gone);
void burst_code_written(uint64_t lo, uint64_t hi, burst_code_forgotten *gone);

#endif
