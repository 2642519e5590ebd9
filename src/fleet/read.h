/* What is found before a profile is made of it.
 *
 * Context and ownership: as in fleet.h. */
#ifndef PENUMBRA_FLEET_READ_H
#define PENUMBRA_FLEET_READ_H

#include "fleet/fleet.h"

struct fleet_found {
    struct store_range range;
    uint64_t period_us; /* what all periods are multiples of */
    uint32_t cpus;      /* of a host: of the one that has most; by sums of hours, of any */
};

bool fleet_find(struct fleet *f, const struct store_query *q, struct fleet_found *found,
                struct err *e);

#endif
