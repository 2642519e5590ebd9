/* Thread states: making, finding and releasing them.
 *
 * Context: _as functions: signal handlers too. Nothing here blocks.
 * Ownership: a state belongs to its thread from thread_begin_as to thread_end_as, else to the
 * pool. */
#ifndef PENUMBRA_RUNTIME_THREAD_H
#define PENUMBRA_RUNTIME_THREAD_H

#include "runtime/carrier/carrier_thread.h"
#include "runtime/interpose/alternate.h"
#include "runtime/interpose/signals.h"
#include "runtime/interpose/signals_mask.h"
#include "runtime/interpose/vfork.h"
#include "runtime/path/deep.h"
#include "runtime/path/tree.h"
#include "runtime/runtime.h"
#include "runtime/sandbox_filter.h"
#include "runtime/sandbox_outside.h"
#include "runtime/trampoline/trampoline.h"
#include "runtime/trigger/delivery.h"
#include "runtime/trigger/kernel.h"
#include "runtime/trigger/trigger_thread.h"
#include "sigsafe/timeline.h"
#include "unwind/unwind.h"

/* Arguments of pthread_create, until the thread has started. */
struct rt_begin {
    void *(*start)(void *);
    void *argument;
    uint64_t stack_size;
};

/* A thread: the parts that others have of it, each said in its owner's header, and what is nobody
 * else's. What a sample touches lies together. */
struct rt_thread {
    struct spool_thread *record;
    uint32_t slot;
    int32_t tid;
    int32_t fd;         /* perf event, or -1 */
    int32_t switch_fd;  /* context-switch event of the wall trigger, or -1 */
    int32_t stop_fd;    /* the event by which the carrier stops it, or -1 */
    int32_t timer;      /* POSIX timer, or -1 */
    bool executes;      /* atomic: it is about to execute a program */
    /* atomic: its triggers, until they are resumed; no sample starts them again */
    bool paused;
    uint32_t busy;      /* the handler is running in this thread */
    uint32_t inside;    /* atomic (sandbox.h) */
    struct rt_filter filter;
    struct rt_outside outside;

    struct rt_clock clock; /* of the trigger `which` */
    /* the trigger that counts: 0 but in a sample of another one (trigger/turn.h) */
    uint32_t which;
    /* triggers after the first; as many have room in this state */
    uint32_t other_count, other_room;
    spool_ref life;        /* the thread's first record */
    struct rt_other *others;
    struct rt_delivery delivery;
    uint64_t random;       /* xorshift state */

    /* Whether it switches often (trigger/ticks.c). */
    struct rt_switches switches;        /* at the last look: how often it had, ... */
    uint64_t switches_cpu_ns;           /* ... and its CPU time */
    uint32_t looks;                     /* samples since then */
    /* looks in a row that found few; how many lead back to the event; 0: it never left it */
    uint32_t calm, patience;

    struct rt_account account;
    struct rt_cpu_clock cpu_clock;
    struct rt_waits waits;
    struct rt_kernel kernel;

    /* The tree, and the last path in it (path/tree.h). */
    uint8_t *block, *block_end; /* unused part of the current block of nodes */
    /* memo[0 .. memo_depth) is a path in the tree, whether it is on the stack or not */
    uint32_t memo_depth;
    spool_ref counted;   /* the node where the last sample was counted */
    struct rt_deep deep;
    uint32_t max_depth;
    struct rt_memo *memo;
    struct unwind_frame *frames;
    struct rt_trampoline trampoline;

    /* `record`, memo and tree are those of `phase` (phases.h). */
    uint32_t phase;
    uint64_t cpu_seen; /* CPU time that is in the cpu_ns of some record */
    struct spool_thread **records; /* of the trigger `which`, by phase; NULL: not sampled in it */
    struct spool_thread *first_records[GUEST_PHASES];
    struct timeline timeline;                /* of all triggers, in all phases */

    struct carrier_thread carrier;
    uint64_t seen[2]; /* bytes counted by the triggers read and write (interpose/io.h) */
    struct rt_vfork vfork;
    struct rt_vfork_level vfork_levels[RT_VFORK_LEVELS]; /* by the number of children above */
    struct rt_begin begin;
    struct rt_alternate alternate;
    struct rt_mask mask;
    struct rt_actions actions;

    struct rt_thread *next_free;
    struct unwind_thread unwind;
};

/* A state from the pool or, but in a sandbox, fresh memory, in no slot yet; NULL without memory. */
struct rt_thread *thread_make_as(void);
/* Puts so many into the pool, for threads that are made in a sandbox; a few of them if they take
 * more bytes than `room`. */
void thread_reserve(uint32_t count, uint64_t room);
void thread_free_as(struct rt_thread *t);

/* Makes t the calling thread's: slot, record in the spool, empty tree. False (t goes back to the
 * pool) if there is no slot or no spool memory. */
bool thread_begin_as(struct rt_thread *t);
/* The same where the kernel cannot be asked for the thread's number. */
bool thread_begin_numbered_as(struct rt_thread *t, int32_t tid);
/* As thread_begin_as, in the record of a thread that has ended. False: t is still the caller's. */
bool thread_begin_again_as(struct rt_thread *t);
/* The first record of a trigger after the first. False: the spool is full. */
bool thread_other_record_as(struct rt_thread *t, uint32_t which);
/* The record that counts may have been made before the thread had a timeline: it has it from now
 * on. */
void thread_timeline_as(struct rt_thread *t);
/* When all of its records say that it ended; 0: it has not. */
void thread_ends_at(struct rt_thread *t, uint64_t ns);
/* The calling thread ends, or may do so next: what its record says of the end is brought up to
 * date. Its trigger must still be there. */
void thread_settle_as(struct rt_thread *t);
/* The calling thread ends or stops being sampled: trigger stopped, record closed, slot and state
 * given back. */
void thread_end_as(struct rt_thread *t);

/* Nothing is known by which its triggers are to stand still; there may be others who stop them for
 * a moment. */
bool thread_takes_samples_as(const struct rt_thread *t);

/* More threads than one have been observed, and have not ended so that we have seen it. */
bool thread_others_as(void);
/* Counts a thread that is not observed, since its trigger could not be set. */
void thread_unarmed_as(void);
/* Gives back slot and state only. */
void thread_forget_as(struct rt_thread *t);
/* The recording leaves the thread of t, which may be any: as thread_end_as. */
void thread_leave_as(struct rt_thread *t);
/* The process ends, and with it the other threads: the CPU time that they have used so far, and
 * what of it is unattributed, where they are not just taking a sample. */
void thread_note_others_as(const struct rt_thread *self);
/* Gives back what threads held that have ended without telling us; a few slots at each call. */
void thread_reap_as(void);

/* Known stack of the calling thread: frames from `frame` (an address in an outer frame) down to at
 * most size bytes below it are its own. 0: unknown. */
void thread_stack_as(struct rt_thread *t, const void *frame, uint64_t size);

/* The calling thread's alternate stack is [lo, hi) from now on; 0, 0: none. True: another thread
 * has a part of it. */
bool thread_alternate_as(struct rt_thread *t, uint64_t lo, uint64_t hi);

/* The state with this slot number, or NULL. */
struct rt_thread *thread_at_as(uint32_t slot);
/* The state of a thread by its id, or NULL: a search, for rare use. */
struct rt_thread *thread_find_as(int32_t tid);

/* In a fork child: forgets all threads but `keep` (may be NULL), which gets a new record. */
bool thread_fork_child_as(struct rt_thread *keep);
bool thread_fork_child_numbered_as(struct rt_thread *keep, int32_t tid);

/* Makes t's record and tree those of the phase that the process is in. Without memory for them they
 * stay as they are, and what comes is counted in the phase before. */
void thread_follow_phase_as(struct rt_thread *t);

/* The calling thread's CPU time up to now belongs to its current record; returns it. */
uint64_t thread_cpu_note_as(struct rt_thread *t);
/* ... which is that. */
uint64_t thread_cpu_seen_as(struct rt_thread *t, uint64_t cpu_ns);

/* The calling thread's name as it is now, into its record. */
void thread_name_as(struct rt_thread *t);

/* The clock of a thread's CPU time. */
long thread_clock_of(int32_t tid);
/* CPU time of the calling thread in nanoseconds. */
uint64_t thread_cpu_ns_as(void);
uint64_t thread_monotonic_ns_as(void);

#endif
