/* What a thread executed between windows (sigsafe/warm.h), for its core: functional warming. Words
 * are the profiled program's, and may be anything.
 *
 * Context: the host's process, one thread.
 * Ownership: blocks are a ring's; threads that are in one are to be freed before. */
#ifndef PENUMBRA_MODULES_SIMULATE_WARM_H
#define PENUMBRA_MODULES_SIMULATE_WARM_H

#include "model/warm.h"
#include "sigsafe/tuples.h"

struct simulate_block;
struct simulate_blocks; /* those of a ring, by number */

/* Where a thread is. */
struct simulate_warm {
    struct simulate_block *block; /* NULL: not known */
    uint64_t sequence;            /* number of the one that is looked at */
    uint64_t repeat;              /* of the operands that come next */
    bool branches;                /* predictors see them */
};

/* The records that words name. */
struct simulate_records {
    const struct tuple_insn *(*find)(void *data, uint32_t id); /* NULL: there is none */
    void *data;
};

/* Words of a sequence of a ring, whose blocks *blocks are: NULL at first. Returns how many
 * instructions they stand for. */
uint64_t simulate_warm_words(struct simulate_blocks **blocks, struct simulate_records records,
                             struct model_core *core, struct simulate_warm *at,
                             const uint64_t *words, uint32_t count);
void simulate_blocks_free(struct simulate_blocks *blocks);

#endif
