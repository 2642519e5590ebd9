/* Call paths of pairs of the tool `waste`: the part of its table that they are, and what they share
 * with the rest of it.
 *
 * Context: ordinary code. The spool is hostile.
 * Ownership: struct profile_waste owns its paths. */
#ifndef PENUMBRA_PROFILE_TABLE_WASTE_PATHS_H
#define PENUMBRA_PROFILE_TABLE_WASTE_PATHS_H

#include "profile/kind/kind.h"
#include "profile/table/table.h"
#include "sigsafe/spool_waste.h"

/* Those that the process's threads kept. False without memory. */
bool waste_paths_read(struct counts_process *q, struct profile_waste_paths *to);
/* As in struct profile_table. */
bool waste_paths_append(struct profile_waste_paths *into, const struct profile_waste_paths *added,
                        const struct table_append *how);
bool waste_paths_settle(struct profile_waste_paths *w);
/* False without memory. */
bool waste_paths_add(struct profile_waste_paths *w, const struct profile_waste_path *path);
bool waste_paths_add_call(struct profile_waste_paths *w, const struct profile_waste_call *call);

/* ---- pairs (waste.c) ---- */

/* False, and the spool is damaged: it is none. */
bool waste_pair_make(struct counts_process *q, uint32_t id, const struct waste_pair *p,
                     struct profile_waste_pair *out);
struct profile_waste_pair waste_pair_moved(const struct profile_waste_pair *from,
                                           const struct table_append *how);
void waste_pair_settle(struct profile_waste_pair *p);

/* The columns of records of `each` bytes that begin with a pair. */
enum { WASTE_PAIR_LEAST = 9 }; /* bytes in a file */
void waste_pairs_put(struct buf *b, const void *first, uint32_t n, size_t each);
void waste_pairs_get(struct decoder *d, struct cursor *c, void *first, uint32_t n, size_t each);
bool waste_pairs_good(const struct profile *p, const void *first, uint32_t n, size_t each);

#endif
