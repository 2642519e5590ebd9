/* Where values were observed in the kernel: addresses become entities that have the function, the
 * distance from its begin, and the instruction as text.
 *
 * Context: ordinary code. */
#ifndef PENUMBRA_COLLECTOR_MACHINE_PLACES_H
#define PENUMBRA_COLLECTOR_MACHINE_PLACES_H

#include "collector/machine/machine_kernel.h"
#include "profile/entity_batch.h"

bool machine_values_are_kernel(const struct profile *p);
/* spool: that the values were recorded in; NULL: instructions have no text. False without
 * memory. */
bool machine_values_name(struct entity_batch *made, struct profile *p, const struct spool *spool,
                         const struct machine_symbols *symbols);
/* The number of the entity that an instruction of the kernel is. size 0: its bytes are not known,
 * and it has no text. 0 without memory. */
uint64_t machine_place_name(struct entity_batch *made, const struct machine_symbols *symbols,
                            uint64_t address, const uint8_t *bytes, size_t size);

#endif
