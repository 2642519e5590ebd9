/* What a day's samples are made of: images, entities, names, and the tree of all stacks. A node of
 * the tree has a number, which samples refer to; a stack is stored once a day.
 *
 *      segments of the day, in order:  | images | entities | names | nodes |   | images | ...
 *                                            └─── appended ───┬────────────────┘
 *                                                             v
 *      nodes:  0 [root]   1 main < 0   2 work < 1   3 read < 2   4 main < 0 ...
 *
 * A parent's number is smaller than its children's. Images are numbered in the order of arrival.
 *
 * Names are those of functions, of some addresses of each. An address between two of one function
 * is in that function, too.
 *
 * Context: ordinary code.
 * Ownership: dictionary_fini releases it. */
#ifndef PENUMBRA_DATABASE_DICTIONARY_H
#define PENUMBRA_DATABASE_DICTIONARY_H

#include "profile/profile.h"

enum { DICTIONARY_NODES_MOST = 1 << 24 };

struct dictionary_node {
    uint64_t offset;
    uint32_t parent, image; /* as of a profile_node */
    bool guessed;
};

struct dictionary {
    struct profile *p; /* images, entities and names alone */
    struct dictionary_node *nodes;
    uint32_t count, capacity; /* of nodes */
};

/* False without memory. */
bool dictionary_init(struct dictionary *d);
void dictionary_fini(struct dictionary *d);

/* Appends a segment. Safe on any bytes; what came before damage may have been added. */
bool dictionary_read(struct dictionary *d, const uint8_t *data, size_t size, struct err *e);

/* What is new since a segment was written: images from this number on, and these nodes, entities
 * and names (of so many images as the dictionary has; NULL: none). */
struct dictionary_news {
    uint32_t first_image, first_node;
    const struct dictionary_node *nodes; /* from the first one on */
    uint32_t node_count;                 /* of these */
    const struct profile_entity *entities;
    uint32_t entity_count;
    const struct profile_names *names;
};
/* The segment, malloc'ed. */
uint8_t *dictionary_write(const struct profile *p, const struct dictionary_news *news,
                          size_t *size, struct err *e);

/* The function that an address is in: the name of a place, or of the place before it if the place
 * after it has the same one. NULL: not known. */
const struct profile_name *dictionary_name(const struct profile_names *n, uint32_t image,
                                           uint64_t offset);

#endif
