/* Many new entities (entities.h) of a profile: collected in any order, and merged in one step.
 *
 * Context: ordinary code.
 * Ownership: the batch has copies until it is merged. */
#ifndef PENUMBRA_PROFILE_ENTITY_BATCH_H
#define PENUMBRA_PROFILE_ENTITY_BATCH_H

#include "profile/profile.h"

/* Zeroed: empty. */
struct entity_batch {
    struct profile_entity *list;
    uint32_t count, capacity;
    uint64_t *ids; /* an open table of those in the list; 0: free */
    uint32_t slots;
};

/* Adds a copy, unless it is there. Its number; 0: no memory. */
uint64_t entity_batch_add(struct entity_batch *b, const struct profile_entity *entity);
/* Adds all to the profile; the batch is empty then. False without memory, or if two entities have
 * one number. */
bool entity_batch_merge(struct entity_batch *b, struct profile *p);
void entity_batch_free(struct entity_batch *b);

#endif
