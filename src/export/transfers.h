/* What optimizers are fed: how often control was transferred from where to where in one program or
 * library, and what was executed between two transfers.
 *
 *     branches   from ──> to          taken jumps, calls, returns
 *     ranges     start .. last        executed without a branch; last: of the last instruction
 *
 *     of edges    each edge, and the run that it leads to (report/runs.h)
 *     of paths    each pair of blocks that follow each other, and each block
 *     of blocks   each block, and the direct jump or call that ends it
 *
 * A range ends at every conditional branch, whether that is taken or not. Where it is not, the next
 * range is entered by falling: ranges are many and short, but sums over them are right.
 *
 * Context: ordinary code. Safe on any profile and any image file.
 * Ownership: transfers_fini releases the lists. */
#ifndef PENUMBRA_EXPORT_TRANSFERS_H
#define PENUMBRA_EXPORT_TRANSFERS_H

#include "export/binary.h"

#define TRANSFER_OUTSIDE UINT64_MAX /* no address of the binary */

struct transfer_branch {
    uint64_t from, to; /* link-time addresses; one of them may be TRANSFER_OUTSIDE */
    uint64_t count;
};

enum transfer_entry { ENTERED_BY_JUMP, ENTERED_BY_RETURN, ENTERED_BY_FALLING };

struct transfer_range {
    uint64_t start, last, count;
    uint64_t before; /* entered by falling: the instruction before `start`; else 0 */
    enum transfer_entry entry;
};

enum transfer_source { TRANSFERS_OF_EDGES, TRANSFERS_OF_PATHS, TRANSFERS_OF_BLOCKS };

struct transfers {
    enum transfer_source source;
    struct transfer_branch *branches; /* by (from, to), distinct */
    struct transfer_range *ranges;    /* by all but count, distinct */
    uint32_t branch_count, branch_capacity, range_count, range_capacity;
    /* Executions that are in neither: */
    uint64_t unread; /* code that cannot be read or decoded */
    uint64_t ends;   /* of paths: where they go on is not known */
    bool failed;     /* no memory */
};

/* Whether the profile has something that transfers follow from.
 * blocks: counts of blocks will do. */
bool transfers_known(const struct profile *p, bool blocks);
/* Errors say which recording to make, if nothing is known. */
bool transfers_find(struct transfers *t, const struct binary *b, bool blocks, struct err *e);
void transfers_fini(struct transfers *t);

/* Where the linkage stub at an address leads to, as was observed; what is no stub is itself. */
uint64_t transfers_behind_stub(const struct transfers *t, const struct binary *b, uint64_t stub);

/* Sentences on what is in no list, one a line. */
void transfers_remark(const struct transfers *t, const struct binary *b, struct buf *remarks);

#endif
