/* The functions of a program or library that were executed, and in which order they had better lie
 * in it: those that call each other next to each other, the busiest first.
 *
 *     main ─900─> parse ─850─> next      clusters   [main parse next] [report]
 *          └──1─> report                 the one with the most heat per byte first
 *
 * The order is that of Ottoni and Maher, "Optimizing Function Placement for Large-Scale Data-Center
 * Applications" (CGO 2017), call-chain clustering: from the hottest function to the
 * coldest, the cluster of each is appended to that of its likeliest caller.
 *
 * Calls are transfers of control (export/transfers.h) to the start of another function, jumps among
 * them; through a linkage stub of the binary, they are calls of the function that it leads to.
 * Without transfers they are those of calling context trees.
 *
 * Context: ordinary code. Safe on any profile and any image file.
 * Ownership: affinity_fini releases the lists; names are the binary's. */
#ifndef PENUMBRA_EXPORT_AFFINITY_H
#define PENUMBRA_EXPORT_AFFINITY_H

#include "export/transfers.h"

struct affinity_function {
    const char *name; /* as linkers know it */
    uint64_t start, size;
    uint64_t heat; /* bytes of code executed, or weighted samples */
};

struct affinity_call {
    uint64_t from, to; /* starts of two functions in the list */
    uint64_t count;    /* calls, or samples below them */
};

struct affinity {
    struct affinity_function *functions; /* by start, distinct */
    struct affinity_call *calls;         /* by (to, from), distinct */
    uint32_t function_count, function_capacity, call_count, call_capacity;
    uint64_t unnamed; /* heat of code in no symbol */
    bool failed;      /* no memory */
};

/* Fills the lists. */
void affinity_of_transfers(struct affinity *a, const struct binary *b, const struct transfers *t);
void affinity_of_trees(struct affinity *a, const struct binary *b);
void affinity_fini(struct affinity *a);

/* Adds to lists that are not settled; settling brings them in order. */
void affinity_heat(struct affinity *a, const struct code_function *f, uint64_t heat);
void affinity_call(struct affinity *a, const struct code_function *from,
                   const struct code_function *to, uint64_t count);
void affinity_settle(struct affinity *a);

/* Indexes of all functions, as they are to lie; the caller frees them. NULL without memory. */
uint32_t *affinity_order(const struct affinity *a);

#endif
