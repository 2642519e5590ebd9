/* Calling context tree of one thread, in shared memory, grown inside a signal handler.
 *
 * A node is one frame in one calling context: the path from the root to it is a call stack
 * (csprof paper, section 2.2). The children of a node are kept in a digital search tree (Knuth,
 * The Art of Computer Programming, vol. 3, section 6.3) over the bits of a hash of their key:
 *
 *      node.child ──> n1                 look for k: start at node.child with h = hash(k);
 *                    /  \                at each node: equal key: found; else go to
 *            left  n2    n3  right       left (bit 0 of h is 0) or right (1), and shift h.
 *                  ..    ..              A null link is where k belongs.
 *
 * Expected depth is log2(children) like a balanced tree's, but an insertion only ever fills one
 * null link, with one 4-byte store, after the new node is complete. So the tree is well formed at
 * every instant: for a reader in another process, and after SIGKILL between any two instructions.
 *
 * Context: _as functions: the one thread that owns the tree, in its signal handler. Readers
 * (collector, recovery) may walk at any time; they must bound-check every reference (the program
 * can scribble over it) and bound the number of nodes they visit.
 * Ownership: nodes live in the spool (spool.h) and are never freed. */
#ifndef PENUMBRA_SIGSAFE_CCT_H
#define PENUMBRA_SIGSAFE_CCT_H

#include <stdint.h>

/* Distance from the start of the spool in 16-byte units; 0 is null. */
typedef uint32_t spool_ref;

struct cct_node {
    uint64_t key;     /* key.h */
    uint64_t samples; /* samples (weighted by period / base period) that ended at this node */
    union {
        uint32_t calls; /* sampled edge count (csprof 2.4), saturating; 0 without trampolines */
        spool_ref cell; /* with TRIGGER_MALLOC, instead: struct spool_heap_cell, or 0 */
    };
    spool_ref child;  /* root of the children's search tree */
    spool_ref left;   /* siblings: the search tree that this node is in */
    spool_ref right;
};
_Static_assert(sizeof(struct cct_node) == 32, "two nodes a cache line");

static inline uint64_t cct_hash(uint64_t key)
{
    /* The finalizer of MurmurHash3: every key bit reaches every hash bit. */
    key ^= key >> 33;
    key *= UINT64_C(0xff51afd7ed558ccd);
    key ^= key >> 33;
    key *= UINT64_C(0xc4ceb9fe1a85ec53);
    return key ^ key >> 33;
}

#endif
