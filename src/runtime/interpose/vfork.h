/* What runs between vfork and exec is a process of its own, on its parent's memory, while the
 * thread that made it waits. It is sampled like one more thread of the parent: with a state, a
 * trigger and a record of its own, which the next child gets.
 *
 *     parent's thread     vfork ──────────── waits ────────────> goes on: closes the record
 *     child               └─> arms itself ── samples ── exec, _exit
 *
 * posix_spawn makes its child inside libc, with all signals blocked: it cannot be sampled. What it
 * has used by the time that the caller goes on is measured, and charged to the caller's context.
 * The new program may have begun by then, on another processor: so it is at most the time that the
 * call took. (The children of system and popen, whose numbers libc keeps to itself, are not
 * measured.)
 *
 * Context: the child, on its parent's stack and thread-local storage. Nothing is allocated; errno
 * stays.
 * Ownership: the child's state is the waiting thread's (rt_vfork.child). */
#ifndef PENUMBRA_RUNTIME_INTERPOSE_VFORK_H
#define PENUMBRA_RUNTIME_INTERPOSE_VFORK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/interpose/signals.h"
#include "runtime/interpose/signals_mask.h"

struct rt_thread;
struct spool_left;

/* What a process that nobody was told of, or a child in our memory, keeps of its signals while it
 * waits: its own child, in the same memory, would write over it. */
enum { RT_VFORK_LEVELS = 4 };
struct rt_vfork_level {
    int32_t pid; /* whose; 0: nothing is kept */
    struct signals_belief belief;
    struct rt_actions actions;
};

/* What is kept about a thread. */
struct rt_vfork {
    struct rt_thread *child; /* that this thread waits for; of a child: its own one, the next */
    struct rt_thread *spare; /* the state of its former child, for the next one */
    uint64_t spawned_ns;     /* of children of posix_spawn, not yet charged: less than a period */
    /* Of such a child. */
    struct spool_left *left; /* it is about to execute a program */
    bool is_child;
    bool has_left;           /* it has stopped its trigger, and settled its account */
};

/* The calling process, which is not the one that we are in, is about to execute a program, or to
 * end. */
void vfork_child_leaves_as(bool by_exec);
/* It is about to set an action for our signal, which is not ours to keep there: its samples end. */
void vfork_child_unsample_as(void);
/* It could not. */
void vfork_child_stays_as(void);

/* Whether it is a vfork child that calls, without asking the kernel. Only children of vfork() and
 * clone() are known. */
bool vfork_is_child_as(void);
/* Such a child is about to enter a filter of its own, or what is like one, of which its parent's
 * memory is to know nothing: it is not sampled any more, and nothing of ours is to ask the kernel
 * in it (vfork_is_confined_as). */
void vfork_child_confines(void);
bool vfork_is_confined_as(void);
/* In a fork child: whatever its parent was to another one, this one is a process of its own. */
void vfork_fork_child(void);

/* Before posix_spawn: what to hand on to vfork_spawned. And behind it, with the child's number; 0:
 * there is none. */
uint64_t vfork_spawn_begins(void);
void vfork_spawned(pid_t child, uint64_t begun);

/* Whether clone with these flags is a vfork, and clone then; `more` is what follows its
 * argument. */
bool vfork_is_clone(int flags);
int vfork_clone(int (*function)(void *), void *stack, int flags, void *argument,
                void *const more[3]);

#endif
