/* Threads that are made in a sandbox, whose filter may not let them set a trigger: the collector
 * sets it, from outside.
 *
 *     before the sandbox      states are mapped, for later
 *     pthread_create, fork    outside_refuses_as: who makes it is sampled, and so its filters let rt_sigreturn pass, and the new
 *                             one's, which are the same
 *     the new thread          slot and record, in memory that is there; its number from libc; `outside` in the record: WANTED
 *     the collector           looks for it (collector/record_sandbox.h), opens the event: SET. Reads its CPU time
 *     before another filter, exec, and what else makes samples deadly: LEAVES, and it waits for GONE
 *
 * A collector that has been killed has no events any more; one that is stopped has. So that this
 * cannot be deadly, nothing is done where something deadly may come, exec too, and our signal
 * cannot be ignored then.
 *
 * No function here makes a system call that the caller's filters do not let through, but
 * outside_reserve and _announce, which come before them.
 *
 * Context: _as functions: any. The rest: ordinary code.
 * Ownership: a state belongs to its thread until the collector has seen that end; then whoever
 * makes a thread takes it back. */
#ifndef PENUMBRA_RUNTIME_SANDBOX_OUTSIDE_H
#define PENUMBRA_RUNTIME_SANDBOX_OUTSIDE_H

#include "runtime/runtime.h"

/* What is known of a thread that was made in one. */
struct rt_outside {
    bool may;         /* its trigger is to be set from outside */
    bool withdrawn;   /* atomic: nobody is to set it while a program is being executed */
    /* of samples, in the process, when it was about to be made (sandbox_endings_as), ... */
    uint32_t endings;
    uint32_t filters; /* ... and filters (sandbox_filters_as) */
    struct spool_thread *record; /* atomic: by which that was asked for; NULL: it was not */
};

struct rt_thread;

/* Before the first sandbox. _announce: the process's record says by now that it is in one. */
void outside_reserve(void);
void outside_announce(void);

/* Why threads and processes that this one makes in its sandbox cannot be sampled; LEFT_COUNT: they
 * can. */
enum left_reason outside_refuses_as(const struct rt_thread *maker);
/* The state of a thread that the calling one is about to make; NULL: it cannot be sampled, and *why
 * says why. */
struct rt_thread *outside_prepare(enum left_reason *why);
/* In the new thread. LEFT_COUNT: it is to be sampled; else a state that nobody could find has been
 * given back. */
enum left_reason outside_begin(struct rt_thread *t);
/* In a fork child, whose record there is, and which has no other thread. */
enum left_reason outside_fork_child(struct rt_thread *t);

/* No sample of the thread, which may be another one, is to come any more: the collector is asked
 * for that, unless it has not come to it yet. _await: until it has done so for the thread, NULL:
 * for all. False: it does not answer. Once it has not, nobody waits until it does. */
void outside_ask(struct rt_thread *t);
bool outside_await(const struct rt_thread *t);
bool outside_leave(struct rt_thread *t);
/* Its event runs, or may be about to. */
bool outside_runs_as(const struct rt_thread *t);
/* Again. */
void outside_again_as(struct rt_thread *t);
/* Around exec, whose thread takes the number of the first one: nobody is to set a trigger that has
 * not been set yet; or again. */
void outside_withdraw(void);
void outside_want_again(void);

/* The calling thread's number, which its libc knows; 0: it does not. */
int32_t outside_number(void);

#endif
