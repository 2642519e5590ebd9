/* From the blocks that a thread executed to its paths.
 *
 * An interprocedural acyclic path (Moseley et al., Shadow Profiling, section 4.2) begins after a
 * backward transfer and ends with the block that makes the next one, or after PATH_BRANCHES transfers
 * of control (PATH_BLOCKS blocks). A backward transfer is a jump or a branch, direct or not, that is
 * taken to its own address or one below. Calls and returns go on, wherever they lead; so does a system
 * call, and a signal's handler, which begins like one that is called and ends like one that returns.
 *
 * Records are block ids with two flags, so that most blocks are dealt with by looking at their record
 * alone:
 *
 *       31      30        29 .................... 0
 *      +-------+---------+------------------------+
 *      | jumps | branch  | id                     |
 *      +-------+---------+------------------------+
 *        |       ends in a transfer of control
 *        may be a backward transfer: whether it was one, the next block's address tells
 *
 * Context: any; pure functions. Ownership: nothing is kept. */
#ifndef PENUMBRA_TOOLS_PATH_WALK_H
#define PENUMBRA_TOOLS_PATH_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/spool_paths.h"

#define PATH_JUMPS (UINT32_C(1) << 31)
#define PATH_BRANCH (UINT32_C(1) << 30)
#define PATH_ID (PATH_BRANCH - 1)
_Static_assert(COUNTS_IDS_MAX <= PATH_ID, "ids fit a record");

/* What is known of a block, by its id. */
struct path_block {
    uint64_t pc;
    uint32_t last;         /* bytes from pc to its last instruction */
    uint32_t instructions;
};

/* A path that is being executed. */
struct path_walk {
    uint64_t hash;
    uint32_t last; /* record of the block before; 0: none */
    uint32_t length, branches;
    bool known;    /* its beginning was observed */
    uint32_t ids[PATH_BLOCKS];
};

/* Who gets the paths, and knows the blocks. */
struct path_user {
    /* A path has ended: w->ids, w->length, w->hash (never 0), and whether it is complete. */
    void (*path)(void *data, const struct path_walk *w, bool complete);
    const struct path_block *(*block)(void *data, uint32_t id);
    void *data;
};

/* Nothing has been executed; `known`: what comes next is the beginning of a path. */
static inline void path_walk_begin(struct path_walk *w, bool known)
{
    w->hash = 0;
    w->last = w->length = w->branches = 0;
    w->known = known;
}

static inline void path_walk_end_one(struct path_walk *w, const struct path_user *user,
                                     bool complete)
{
    if (!w->length)
        return;
    w->hash |= !w->hash;
    user->path(user->data, w, complete && w->known);
    path_walk_begin(w, true);
}

static inline bool path_is_backward(const struct path_user *user, uint32_t from, uint32_t to)
{
    const struct path_block *a = user->block(user->data, from & PATH_ID);
    const struct path_block *b = user->block(user->data, to & PATH_ID);
    return b->pc <= a->pc + a->last;
}

/* The next `count` blocks. Inlined, with its callbacks: a few instructions a block. */
static inline __attribute__((always_inline)) void
path_walk(struct path_walk *w, const struct path_user *user, const uint32_t *records, uint64_t count)
{
    uint64_t hash = w->hash;
    uint32_t last = w->last, length = w->length, branches = w->branches;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t record = records[i];
        bool over = length == PATH_BLOCKS || branches == PATH_BRANCHES;
        if (over || (last & PATH_JUMPS && path_is_backward(user, last, record))) {
            w->hash = hash;
            w->length = length;
            path_walk_end_one(w, user, true);
            hash = length = branches = 0;
        }
        w->ids[length++] = record & PATH_ID;
        hash = ((hash << 23 | hash >> 41) ^ record) * UINT64_C(0x9e3779b97f4a7c15);
        branches += record >> 30 & 1;
        last = record;
    }
    w->hash = hash;
    w->last = last;
    w->length = length;
    w->branches = branches;
}

#endif
