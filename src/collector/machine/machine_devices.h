/* Whether a process has a device's memory mapped: reading that may do something.
 *
 * Context: ordinary code.
 * Ownership: none. */
#ifndef PENUMBRA_COLLECTOR_MACHINE_DEVICES_H
#define PENUMBRA_COLLECTOR_MACHINE_DEVICES_H

#include <stdint.h>

enum machine_devices {
    DEVICES_NONE,
    DEVICES_MAYBE, /* or its maps cannot be read */
    DEVICES_ENDED, /* there is no such process any more */
};

enum machine_devices machine_devices_of(int32_t pid);

#endif
