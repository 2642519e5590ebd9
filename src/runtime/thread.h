/* Thread states: making, finding and releasing them.
 *
 * Context: _as functions: signal handlers too. Nothing here blocks.
 * Ownership: a state belongs to its thread from thread_begin_as to thread_end_as, else to the pool. */
#ifndef PENUMBRA_RUNTIME_THREAD_H
#define PENUMBRA_RUNTIME_THREAD_H

#include "runtime/runtime.h"

/* A state from the pool or fresh memory, in no slot yet; NULL without memory. */
struct rt_thread *thread_make_as(void);
void thread_free_as(struct rt_thread *t);

/* Makes t the calling thread's: slot, record in the spool, empty tree. False (t goes back to the
 * pool) if there is no slot or no spool memory. */
bool thread_begin_as(struct rt_thread *t);
/* As thread_begin_as, in the record of a thread that has ended. False: t is still the caller's. */
bool thread_begin_again_as(struct rt_thread *t);
/* The calling thread ends, or may do so next: what its record says of the end is brought up to date.
 * Its trigger must still be there. */
void thread_settle_as(struct rt_thread *t);
/* The calling thread ends or stops being sampled: trigger stopped, record closed, slot and state given
 * back. */
void thread_end_as(struct rt_thread *t);

/* More threads than one have been observed, and have not ended so that we have seen it. */
bool thread_others_as(void);
/* Counts a thread that is not observed, since its trigger could not be set. */
void thread_unarmed_as(void);
/* Gives back slot and state only. */
void thread_forget_as(struct rt_thread *t);
/* The recording leaves the thread of t, which may be any: as thread_end_as. */
void thread_leave_as(struct rt_thread *t);
/* The process ends, and with it the other threads: the CPU time that they have used so far, and what of it is unattributed, where
 * they are not just taking a sample. */
void thread_note_others_as(const struct rt_thread *self);
/* Gives back what threads held that have ended without telling us; a few slots at each call. */
void thread_reap_as(void);

/* Known stack of the calling thread: frames from `frame` (an address in an outer frame) down to at
 * most size bytes below it are its own. 0: unknown. */
void thread_stack_as(struct rt_thread *t, const void *frame, uint64_t size);

/* The calling thread's alternate stack is [lo, hi) from now on; 0, 0: none. True: another thread has a part of it. */
bool thread_alternate_as(struct rt_thread *t, uint64_t lo, uint64_t hi);

/* The state with this slot number, or NULL. */
struct rt_thread *thread_at_as(uint32_t slot);
/* The state of a thread by its id, or NULL: a search, for rare use. */
struct rt_thread *thread_find_as(int32_t tid);

/* In a fork child: forgets all threads but `keep` (may be NULL), which gets a new record. */
bool thread_fork_child_as(struct rt_thread *keep);

/* Makes t's record and tree those of the phase that the process is in. Without memory for them they
 * stay as they are, and what comes is counted in the phase before. */
void thread_follow_phase_as(struct rt_thread *t);

/* The calling thread's CPU time up to now belongs to its current record; returns it. */
uint64_t thread_cpu_note_as(struct rt_thread *t);

/* The calling thread's name as it is now, into its record. */
void thread_name_as(struct rt_thread *t);

/* The clock of a thread's CPU time. */
long thread_clock_of(int32_t tid);
/* CPU time of the calling thread in nanoseconds. */
uint64_t thread_cpu_ns_as(void);
uint64_t thread_monotonic_ns_as(void);

#endif
