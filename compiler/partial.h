/* Partial duplication (Arnold and Ryder, section 3.1): which blocks need no copy.
 *
 *     top node      no operation, and none on any way to it from an entry or a back edge
 *     bottom node   no operation, and none on any way from it to an exit or a back edge
 *
 * Both are left out of the duplicate. Checks that would enter top nodes are left out with them, and
 * edges from top nodes to copied blocks get one: no way through the function has more checks than
 * with full duplication, which is Property 1.
 *
 * Context: EDGE_DFS_BACK is set. */
#ifndef PENUMBRA_COMPILER_PARTIAL_H
#define PENUMBRA_COMPILER_PARTIAL_H

struct partial_blocks {
    std::vector<bool> top, bottom; /* by index */
};

/* `can_copy`: blocks that can be copied, by index. `counts_entries`: the entry has an operation. */
partial_blocks partial_choose(const std::vector<bool> &can_copy, bool counts_entries);

#endif
