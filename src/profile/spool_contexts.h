/* Nodes of threads' trees by their places in a spool: for tables of tools that keep nodes
 * (tool_about.in_context).
 *
 * Context: ordinary code.
 * Ownership: a struct spool_contexts owns its arrays until _free; the profile is borrowed. Zeroed,
 * it is empty. */
#ifndef PENUMBRA_PROFILE_SPOOL_CONTEXTS_H
#define PENUMBRA_PROFILE_SPOOL_CONTEXTS_H

#include "profile/profile.h"
#include "sigsafe/spool.h"

struct spool_context {
    uint32_t thread, node; /* indices in the profile */
    uint32_t caller;       /* the node above it, in `nodes`; of a root: itself */
    uint32_t made;         /* the user's own; 0 at first */
};

struct spool_contexts {
    const struct profile *profile;
    struct spool_context *nodes; /* callers before what they call */
    struct spool_context_ref {
        spool_ref ref;
        uint32_t node; /* in `nodes` */
    } *refs;
    uint32_t count, capacity, refs_capacity;
    uint32_t sorted; /* so many of refs are, by ref */
};

/* All nodes of that thread, with their places. False without memory. */
bool spool_contexts_add(struct spool_contexts *c, uint32_t thread, const spool_ref *refs);
/* The node at that place, an index in `nodes`; UINT32_MAX: there is none. */
uint32_t spool_contexts_find(struct spool_contexts *c, spool_ref ref);
const struct profile_node *spool_contexts_node(const struct spool_contexts *c, uint32_t index);
void spool_contexts_free(struct spool_contexts *c);

#endif
