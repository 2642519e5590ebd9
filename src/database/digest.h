/* A day in short: trees of functions, with a bound on their nodes, so that a month is read in the
 * time that it takes to read thirty of these. Weights are all there; what is left out is how rare
 * samples were reached:
 *
 *      all of it                                digest
 *      [root] ── main ─┬─ work 900              [root] ── main ─┬─ work 900
 *                      └─ a ─┬─ b ── read 2                     └─ [folded] ─┬─ read 3
 *                            └─ c ── read 1                                  └─ write 1
 *                               └─── write 1
 *
 * Kept are the nodes with the greatest worth, by the weight of their subtrees; below the last node
 * that is kept, [folded] has the rest by innermost function, and without it where even that is
 * rarer than the others. A node's worth is half its share of the machine, and half its share of its
 * service among equal services: small services have their trees, too.
 *
 * So the weight of a function itself is right, but for what [folded] itself has; a call path, and a
 * function's total, has at most as much less as is below [folded].
 *
 * Context: ordinary code. */
#ifndef PENUMBRA_DATABASE_DIGEST_H
#define PENUMBRA_DATABASE_DIGEST_H

#include "database/answer.h"

/* Of the digest of a day that has more than twice as many. */
enum { DIGEST_NODES = 1 << 16 };

/* Where there are more than twice `most` nodes: half of `most` are kept, besides the roots, and so
 * many functions below [folded], which itself is there once a node at most. A tree that is little
 * larger stays whole: it is read in twice the time. False without memory. */
bool digest_bound(struct group *groups, uint32_t count, uint32_t most);

#endif
