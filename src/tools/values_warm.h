/* What lies between the windows of a sampled simulation, in short: which blocks a thread enters,
 * and the addresses that may change the state of a modelled cache.
 *
 *     engine's ring:   ENTERED block │ TOUCHED site, registers │ TOUCHED ... │ ENTERED ...
 *     tuple ring:      sequence, TUPLE_WARM │ word │ word │ ...              sigsafe/warm.h
 *
 * An address is left out where its line is the one that was touched last of all lines that are
 * equal modulo sample_settings.lines, in the same emptying of the engine's ring: that number
 * divides the sets of the first-level cache, so the line is the most recently used of its set, and
 * touching it changes nothing there. A store is not left out where only loads were before it.
 *
 * Context: values_warm_block_as, values_warm_alone_make_as: under the engine's lock; others when
 * the engine's ring is emptied, in the thread concerned.
 * Ownership: the table of blocks stays until the process ends; a forked child has its parent's. */
#ifndef PENUMBRA_TOOLS_VALUES_WARM_H
#define PENUMBRA_TOOLS_VALUES_WARM_H

#include "tools/values_flush.h"

/* By the process's first thread. */
bool values_warm_make_as(void);

/* Hooks of a block that is executed between windows. False: it has no room for them, or there is no
 * memory for what they name. */
bool values_warm_block_as(const struct hook_block *block, struct hooks *h);
/* The same of a block that always appends tuples: its sites name themselves. */
bool values_warm_alone_make_as(const struct hook_block *block, struct hooks *h);

void values_warm_enter_as(struct values_flush *f, uint32_t block);
void values_warm_touched_as(struct values_flush *f, uint32_t site);
/* An instruction as a block of its own, and what it touches. */
void values_warm_alone_as(struct values_flush *f, const struct values_site *s);
void values_warm_touch_as(struct values_flush *f, const struct tuple_insn *r);
/* What has been taken is published. */
void values_warm_end_as(struct values_flush *f);

#endif
