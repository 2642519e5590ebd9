/* What the program believes of its mask: that our signal is blocked. The kernel is told otherwise,
 * and samples go on.
 *
 * Context: _as functions: signal handlers too. The rest: ordinary code.
 * Ownership: none. */
#ifndef PENUMBRA_RUNTIME_INTERPOSE_SIGNALS_MASK_H
#define PENUMBRA_RUNTIME_INTERPOSE_SIGNALS_MASK_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct rt_thread;

/* What is kept about a thread. */
struct rt_mask {
    /* the program believes that our signal is blocked; atomic, once the thread has begun */
    bool trap_blocked;
    bool trap_awaited; /* atomic: the program waits for it there (signals_waits.c) */
};

/* What a child that is not ours, of vfork or of a raw fork, believes of its own mask. Once it has
 * set the signal's action itself, our handler is not there to keep what is blocked: then its mask
 * is what it believes. */
struct signals_belief {
    int32_t pid; /* of the child */
    bool blocked, acts;
};

/* Whether the runtime stands between the program and its signals. Not under --exact: the engine
 * sees system calls. */
bool signals_active_as(void);
/* The number of our signal. */
int signals_number_as(void);
/* What the calling thread believes. NULL: it has no thread-local storage, and its mask is what the
 * kernel says. */
bool *signals_believed_as(void);
void signals_believe_as(bool blocked);
/* A child that is not ours, of vfork or of a raw fork, is about to set the signal's action; has
 * done so: from then on its mask is what it believes. */
void signals_child_act(void);
bool signals_child_acts_as(void);
/* A vfork child begins, which believes what its parent does. */
void signals_belief_of_child(void);
/* The calling thread's, of its last such child. */
struct signals_belief *signals_belief_child(void);
/* What the kernel knows of a sigset_t, which may be no longer. */
uint64_t signals_mask_of(const sigset_t *set);
/* Blocks or unblocks our signal for the kernel. True: it was blocked. */
bool signals_mask_real_as(int how);
/* Before our handler is there: what the thread has inherited is what it believes, and the signal is
 * unblocked. */
void signals_mask_begin(void);

/* The program reads the signal from a descriptor: where it blocks it, it is blocked for the kernel
 * too, and there are no samples of the thread meanwhile. */
bool signals_yield_as(void);
void signals_yield_begin(void);

/* In the handler: a signal of the program's. True: it is blocked as the program believes, and is
 * kept. */
bool signals_hold_as(int signal, const siginfo_t *info, void *context);
/* A fault's signal ends the program where it is blocked: the kernel does not wait with it. */
bool signals_is_forced_as(const siginfo_t *info);
/* In the handler: another thread has one for this one, which has not blocked it. */
bool signals_wake_as(siginfo_t *info);
bool signals_is_wake_as(uint64_t value);
/* A wait that ends with our signal: the thread is one that may be woken. */
void signals_wait_for(bool on);

/* sigsetjmp() saves what the kernel says. What the program believes is kept beside it (nonlocal.c):
 * the last word of a saved mask, of which the kernel fills the first. */
void signals_belief_save(sigset_t *saved);
void signals_belief_restore(const sigset_t *saved);

#endif
