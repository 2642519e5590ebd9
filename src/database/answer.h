/* A profile that is made of what a database has: trees by service and program, names by place.
 *
 *      answer_group ─> group ─┬─ tree: nodes that are added, and get weights
 *                             └─ totals of its samples
 *      answer_place ─> names of places, each once        ─> answer_finish ─> profile
 *
 * Context: ordinary code.
 * Ownership: answer_fini releases all but the profile, which is the caller's once answer_finish has
 * made it; before that answer_fini frees it. */
#ifndef PENUMBRA_DATABASE_ANSWER_H
#define PENUMBRA_DATABASE_ANSWER_H

#include "database/counts.h"
#include "database/store.h"
#include "profile/tree_sum.h"

struct group {
    char *service, *program;
    struct tree_sum tree;
    struct counts totals; /* its list is empty */
};

struct answer_place {
    uint32_t image, name; /* of the profile */
    uint64_t offset;
};

/* Each is there once. */
struct answer_places {
    struct answer_place *list;
    size_t count, capacity;
    uint32_t *slots; /* index + 1, or 0 */
    size_t slot_count; /* a power of two, at least twice as many as places; 0: none yet */
};

struct answer {
    struct profile *p; /* images, entities, and names without places */
    struct group *groups;
    uint32_t group_count, group_capacity;
    struct answer_places places;
    uint64_t unit_ns; /* a weight of 1 */
};

/* The node below which call paths hang that are too rare to be kept: by their innermost function,
 * or, of those that are too rare for that, nothing. */
static inline bool answer_is_folded(const struct profile_node *n)
{
    return n->image == PROFILE_IMAGE_PSEUDO && n->offset == KEY_FOLDED;
}

/* Zeroed; false without memory. */
bool answer_init(struct answer *a);
void answer_fini(struct answer *a);

/* Added if it is missing, and valid until another one is added. NULL without memory. */
struct group *answer_group(struct answer *a, const char *service, const char *program);
/* 1 + a place of the answer in its list; 0: it is to be filled. NULL without memory. */
uint32_t *answer_place(struct answer *a, uint32_t image, uint64_t offset);
/* Fills the slot that answer_place gave. False without memory. */
bool answer_place_fill(struct answer *a, uint32_t *slot, const struct answer_place *place);

/* Of what it is, "a profile database", and what is below [folded], "call paths ...". */
struct answer_source {
    const char *what, *folded;
};

/* The profile. NULL: *e; ERR_NOT_FOUND: it has no samples. */
struct profile *answer_finish(struct answer *a, const struct answer_source *source,
                              const struct store_range *range, uint32_t cpus, struct err *e);

#endif
