/* From the blocks that a thread executed to its paths.
 *
 * An interprocedural acyclic path (Moseley et al., Shadow Profiling, section 4.2) begins after a
 * backward transfer and ends with the block that makes the next one, or after PATH_BRANCHES
 * transfers of control (PATH_BLOCKS blocks). A backward transfer is a jump or a branch, direct or
 * not, that is taken to its own address or one below. Calls and returns go on, wherever they lead;
 * so does a system call, and a signal's handler, which begins like one that is called and ends like
 * one that returns.
 *
 * Records are block ids with two flags, so that most blocks are dealt with by looking at their
 * record alone:
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

#include "sigsafe/hash.h"
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
    uint64_t mixed;        /* path_mixed of its id */
};

/* A path that has ended. */
struct path_seen {
    const uint32_t *records; /* of its blocks */
    uint32_t length;
    bool complete;
    uint64_t hash; /* of the blocks' ids; never 0 */
};

/* A path that is being executed. */
struct path_walk {
    uint64_t hash;
    uint32_t last; /* record of the block before; 0: none */
    uint32_t length, branches;
    bool known;    /* its beginning was observed */
    uint32_t records[PATH_BLOCKS];
};

/* Who gets the paths, and knows the blocks. */
struct path_user {
    /* A complete path has ended: true if it is known, and has been counted. */
    bool (*known)(void *data, uint64_t hash);
    /* One that is not, or not complete. */
    void (*path)(void *data, const struct path_seen *path);
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

#define PATH_INLINE static inline __attribute__((always_inline))

static inline void path_walk_end_one(struct path_walk *w, const struct path_user *user,
                                     bool complete)
{
    const struct path_seen seen = {w->records, w->length, complete && w->known, w->hash | !w->hash};
    if (!w->length)
        return;
    if (!seen.complete || !user->known(user->data, seen.hash))
        user->path(user->data, &seen);
    path_walk_begin(w, true);
}

/* Not 0 for the id 0, or a path that begins with that block would be the one without it. */
static inline uint64_t path_mixed(uint32_t id)
{
    uint64_t mixed = hash_word(id + UINT64_C(1));
    return (mixed ^ mixed >> 32) * UINT64_C(0xd6e8feb86659fd93);
}

/* The hash of a path and a block more: a polynomial, by Horner's rule, of which each step is two
 * short additions. */
PATH_INLINE uint64_t path_hash(const struct path_user *user, uint64_t hash, uint32_t record)
{
    return hash * 9 + user->block(user->data, record & PATH_ID)->mixed;
}

PATH_INLINE bool path_is_backward(const struct path_user *user, uint32_t from, uint32_t to)
{
    const struct path_block *a = user->block(user->data, from & PATH_ID);
    const struct path_block *b = user->block(user->data, to & PATH_ID);
    return b->pc <= a->pc + a->last;
}

/* Block by block: a path that began earlier, or a long one. Returns where the next one begins. */
static inline uint64_t path_walk_slowly(struct path_walk *w, const struct path_user *user,
                                        const uint32_t *records, uint64_t i, uint64_t count)
{
    for (; i < count; i++) {
        uint32_t record = records[i];
        bool over = w->length == PATH_BLOCKS || w->branches == PATH_BRANCHES;
        if (over || (w->last & PATH_JUMPS && path_is_backward(user, w->last, record))) {
            path_walk_end_one(w, user, true);
            return i;
        }
        w->records[w->length++] = record;
        w->hash = path_hash(user, w->hash, record);
        w->branches += record >> 30 & 1;
        w->last = record;
    }
    return i;
}

/* Whole paths, from the beginning of one on, while they have fewer than PATH_BRANCHES blocks, so
 * that only backward jumps end them. Returns the beginning of the first that has not. */
PATH_INLINE uint64_t path_walk_quickly(const struct path_user *user, const uint32_t *records,
                                       uint64_t begin, uint64_t count)
{
    uint64_t hash = 0;
    for (uint64_t i = begin; i < count && i - begin < PATH_BRANCHES;) {
        uint32_t record = records[i++];
        hash = path_hash(user, hash, record);
        if (!(record & PATH_JUMPS) || i == count || !path_is_backward(user, record, records[i]))
            continue;
        hash |= !hash;
        if (!user->known(user->data, hash)) {
            const struct path_seen seen = {&records[begin], (uint32_t)(i - begin), true, hash};
            user->path(user->data, &seen);
        }
        begin = i;
        hash = 0;
    }
    return begin;
}

/* The next `count` blocks. Inlined, with its callbacks: a few instructions a block. */
PATH_INLINE void path_walk(struct path_walk *w, const struct path_user *user,
                           const uint32_t *records, uint64_t count)
{
    for (uint64_t i = 0; i < count;) {
        if (!w->length && w->known)
            i = path_walk_quickly(user, records, i, count);
        i = path_walk_slowly(w, user, records, i, count);
    }
}

#endif
