/* Trees of several profiles as one: a calling context is a number, by (number of its caller's
 * context, function). Numbers begin at 1 and come in the order of first use, so that a caller's is
 * smaller than those below it; 0 is the caller of the roots.
 *
 * Context: ordinary code.
 * Ownership: path_ids_fini releases the table. */
#ifndef PENUMBRA_REPORT_PATH_IDS_H
#define PENUMBRA_REPORT_PATH_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct path_ids {
    uint64_t *keys; /* of 2 each; [1] is the function plus 1, 0: free */
    uint64_t *ids;
    size_t size, used; /* size: a power of two */
};

/* Room for so many nodes of all trees, at most half full. False without memory. */
bool path_ids_init(struct path_ids *p, size_t nodes);
uint64_t path_ids_find(struct path_ids *p, uint64_t parent, uint64_t function);
void path_ids_fini(struct path_ids *p);

#endif
