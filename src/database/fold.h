/* The nodes of a day's dictionary, as a query wants them: in the images of its result, with the
 * addresses of a function as one, and with what its filters say of each.
 *
 * Context: ordinary code.
 * Ownership: fold_fini releases the nodes; the rest is borrowed. */
#ifndef PENUMBRA_DATABASE_FOLD_H
#define PENUMBRA_DATABASE_FOLD_H

#include "database/dictionary.h"
#include "database/store.h"

struct folded {
    uint64_t offset;
    const struct profile_name *name; /* of the dictionary; NULL: none */
    uint32_t parent, image;
    bool guessed;
    bool kept; /* samples that end here are part of the answer */
};

struct fold {
    struct folded *list; /* as the dictionary's nodes */
    uint32_t count;
};

/* image_of: where an image of the dictionary is in the result. False without memory. */
bool fold_make(struct fold *f, const struct dictionary *words, const uint32_t *image_of,
               const struct store_query *q);
void fold_fini(struct fold *f);

#endif
