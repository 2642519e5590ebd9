/* What an event that counts CPU time costs at each switch of its thread to another one.
 *
 * Context: the main thread of the collector, before the program is started. Takes some
 * milliseconds, on a busy machine up to a fifth of a second. */
#ifndef PENUMBRA_COLLECTOR_RECORD_SWITCHES_H
#define PENUMBRA_COLLECTOR_RECORD_SWITCHES_H

#include <stdint.h>

#include "sigsafe/settings.h"

/* In nanoseconds of CPU time; zeros: not known. */
struct switch_prices {
    uint32_t near_ns; /* the event has config's period */
    uint32_t far_ns;  /* a long one: another timer than the event's is the processor's next */
};

struct switch_prices record_switches(const struct spool_config *config);

#endif
