/* What an event that counts CPU time costs at each switch of its thread to another one.
 *
 * Context: the main thread of the collector, before the program is started. Takes some
 * milliseconds. */
#ifndef PENUMBRA_COLLECTOR_RECORD_SWITCHES_H
#define PENUMBRA_COLLECTOR_RECORD_SWITCHES_H

#include <stdint.h>

#include "sigsafe/settings.h"

/* In nanoseconds of CPU time; 0: not known. */
uint32_t record_switches_ns(const struct spool_config *config);

#endif
