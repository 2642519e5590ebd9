/* What threads wait for: records of the programs in the kernel (bpf/waits.bpf.inc) become time in
 * their trees.
 *
 *     WAIT: a stack ──> machine_thread.wait: a node of the tree
 *     WAKE: a stack ──> a node of the waker's other tree
 *     END:  times   ──> the node: blocked                    times odds, in whole periods;
 *                       its child [run queue]: ready to run  the rest is carried over
 *                       the waker's node, [wakes], the wait's path: blocked
 *
 * A thread's samples of CPU time and its waits add up to its elapsed time. The other trees
 * (TRIGGER_WAKING) have blocked time once more: by who has ended it. What an interrupt has ended is
 * in the other tree of the thread that waited, and so is what nobody has that is known
 * ([unattributed]). What has not ended is in none.
 *
 * Context: the machine's thread.
 * Ownership: none of its own. */
#ifndef PENUMBRA_COLLECTOR_MACHINE_WAITS_H
#define PENUMBRA_COLLECTOR_MACHINE_WAITS_H

#include "base/buf.h"
#include "collector/machine/machine_sample.h"

/* SAMPLE or WALK, DONE, of a thread that begins to wait, or is found waiting. */
void machine_waits_begin(struct machine_sampler *s, const struct machine_record *r);
/* SAMPLE or WALK, DONE, of a thread that wakes another one. */
void machine_waits_wake(struct machine_sampler *s, const struct machine_record *r);
/* END. */
void machine_waits_end(struct machine_sampler *s, const struct machine_record *r);
/* All records up to `now` have been taken: waits that last are charged up to then, once a
 * second, so that a collector that is killed has not lost them. */
void machine_waits_last(struct machine_sampler *s, uint64_t now);
/* Records were lost: whoever is known to wait may have gone on. Looks find those that have not. */
void machine_waits_forget(struct machine_sampler *s);
/* The recording is over: who waits now has waited until then. */
void machine_waits_finish(struct machine_sampler *s, uint64_t now);
/* What is to be known of them. */
void machine_waits_notes(const struct machine_sampler *s, struct buf *notes);

#endif
