/* The sampled allocations that are live, by address: what free() has to find, and nearly never
 * does.
 *
 *     free(p) ──> filter[hash(p)] == 0: not sampled      one byte, usually in the cache
 *                   │ else
 *                   └─> slots[hash(p)], ...: linear probing; removal moves later entries up
 *
 * What each context has live, and had at the process's peak, is kept beside it in the spool
 * (spool_heap_cell).
 *
 * Context: ordinary code and the program's signal handlers. Whoever changes the table holds its
 * lock with all signals blocked (sync_mask), for a few dozen instructions.
 * Ownership: 17 MB of address space, of which what is touched becomes memory; for the process's
 * life. */
#ifndef PENUMBRA_RUNTIME_INTERPOSE_HEAP_TABLE_H
#define PENUMBRA_RUNTIME_INTERPOSE_HEAP_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/cct.h"
#include "sigsafe/hash.h"

/* Maps the table. Until then, and if there is no memory, nothing is remembered. */
void heap_table_begin(void);
/* In a fork child: an empty table; what the parent allocated is the parent's. */
void heap_table_fork_child(void);

/* What an allocation was sampled with. */
struct heap_sampled {
    spool_ref cell; /* struct spool_heap_cell; 0: it was not sampled */
    uint32_t weight;
};

/* The allocation at `address`, of the context with this node, is live. Signals are blocked. */
void heap_table_add(const void *address, struct cct_node *node, uint64_t weight);
/* It failed to be freed after all. */
void heap_table_restore(const void *address, struct heap_sampled sampled);

extern uint8_t *heap_filter; /* NULL: no table */
enum { HEAP_FILTER_BITS = 18 };

static inline uint64_t heap_hash(const void *address)
{
    return hash_word((uint64_t)address >> 4);
}

/* False: certainly not sampled. */
static inline bool heap_maybe_sampled(const void *address)
{
    const uint8_t *filter = __atomic_load_n(&heap_filter, __ATOMIC_RELAXED);
    return filter &&
           __builtin_expect(__atomic_load_n(&filter[heap_hash(address) >> (64 - HEAP_FILTER_BITS)],
                                            __ATOMIC_RELAXED) != 0, 0);
}

/* Takes the allocation out, if it is there: before it is freed, for afterwards the address may be
 * another thread's. */
struct heap_sampled heap_table_remove(const void *address);

#endif
