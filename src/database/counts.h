/* The samples of one service in one slot: a blob of the table `samples`.
 *
 *      container (profile/container.h), kind 3, one section:
 *      | taken, weight, squares, guessed: uleb | n, then n reasons: uleb | n | nodes, n | counts, n |
 *
 * A node is a number in the dictionary of the day (dictionary.h), the difference to the one before;
 * a count is the weight of the samples that ended there. docs/daemon.md has it byte by byte.
 *
 * Context: ordinary code.
 * Ownership: counts_fini releases the lists. */
#ifndef PENUMBRA_DATABASE_COUNTS_H
#define PENUMBRA_DATABASE_COUNTS_H

#include "base/buf.h"
#include "profile/profile.h"

struct count {
    uint32_t node;
    uint64_t weight;
};

/* Zeroed: empty. */
struct counts {
    uint64_t taken, weight, squares, guessed;
    uint64_t truncated[TRUNC_COUNT];
    struct count *list; /* by node, each once, after counts_settle */
    uint32_t count, capacity;
};

bool counts_add(struct counts *c, uint32_t node, uint64_t weight);
/* Adds all of `from`; to be settled. */
bool counts_add_all(struct counts *c, const struct counts *from);
/* Sorts, and makes one of those of one node. */
void counts_settle(struct counts *c);
/* The blob, malloc'ed. */
uint8_t *counts_encode(const struct counts *c, size_t *size, struct err *e);
/* nodes: how many the dictionary has. False: damaged, or no memory; *c is to be freed all the
 * same. Safe on any bytes. */
bool counts_decode(struct counts *c, const uint8_t *data, size_t size, uint32_t nodes,
                   struct err *e);
void counts_fini(struct counts *c);

#endif
