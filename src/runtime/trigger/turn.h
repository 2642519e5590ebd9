/* Several triggers: which of them counts.
 *
 *      rt_thread                         others[0]            others[1]
 *      which 0: of trigger 0             of trigger 1         of trigger 2
 *      clock, record, memo, ...          clock, record, ...   clock, record, ...
 *                     ^                       ^
 *                     └──── turn_to_as(t, 1): the two are exchanged
 *
 * A trigger has a clock, a record with its counters, and a tree of its own in each thread, and only
 * one trigger counts at a time: all code that takes a sample finds what it needs in the rt_thread
 * itself, and knows of one trigger. The collector joins the records of a thread
 * (profile/spool_read.c).
 *
 * Invariants:
 * - Between samples trigger 0 counts. Whoever turns to another one sets `busy` meanwhile, and turns
 *   back.
 * - `record` is never NULL, at no instant: other threads look at it.
 * - Events' descriptors do not move: other threads look at those, too (rt_other.fd).
 *
 * Context: the thread itself, signal handlers included.
 * Ownership: the others belong to the thread's state. */
#ifndef PENUMBRA_RUNTIME_TRIGGER_TURN_H
#define PENUMBRA_RUNTIME_TRIGGER_TURN_H

#include "runtime/thread.h"

/* False: there is no spool memory for the record of this trigger; then the one that counted still
 * does. */
bool turn_to_as(struct rt_thread *t, uint32_t which);
/* The clock and the record of a trigger, wherever they are. The record may be NULL: it has none
 * yet. */
struct rt_clock *turn_clock_as(struct rt_thread *t, uint32_t which);
struct spool_thread *turn_record_as(struct rt_thread *t, uint32_t which);
/* True if another trigger's signal has come since the last one of the trigger that counts. */
bool turn_was_since_as(const struct rt_thread *t);

#endif
