/* Filters (seccomp) that do not know rt_sigreturn: the kernel ends every handler by it, so in such
 * a sandbox a sample would end the program. Whoever enters it is not sampled any more, from before.
 *
 *     before the program's own call          the filter is read, as the kernel will read it, and looked at (sigsafe/filter.h);
 *                                            unless it lets rt_sigreturn through, triggers are silenced
 *     the program's own call
 *     after it                               if it has failed, they begin again; discovery does not: nothing is armed any more
 *                                            where rt_quiet_as()
 *
 * What else makes samples deadly goes the same way (sandbox_thread_comes); if it was refused, and
 * no sandbox is there, all goes on as before.
 *
 * Filters add up. To look at a second one, and to end samples before it, takes few system calls,
 * one of several each (`can_look`). Where the first one does not let them through, and may let
 * another one come, samples end before the first one.
 *
 * A filter that lets all of our calls pass (sandbox_calls.h) is none of this: what is made behind
 * it is sampled.
 *
 * Context: ordinary code, after sandbox_begins().
 * Ownership: none. */
#ifndef PENUMBRA_RUNTIME_SANDBOX_FILTER_H
#define PENUMBRA_RUNTIME_SANDBOX_FILTER_H

#include "runtime/runtime.h"

/* What is kept about a thread. */
struct rt_filter {
    uint32_t denied;   /* atomic: calls that a filter of its does not let through */
    uint32_t silenced; /* before the filter of this number; 0: not */
};

/* Of one call of the program's. */
struct sandbox_filter {
    bool looked;        /* begun */
    bool all;           /* it is for all threads */
    /* ... or another one could come for all, and nobody's samples be ended then */
    bool ends_all;
    /* of what looking at the next one, and ending samples, may take: what it does not let
     * through */
    uint32_t denies;
    struct rt_thread *self; /* NULL: not observed */
    uint32_t silenced;  /* rt_filter.silenced of whom it has silenced; 0: nobody */
    bool locked;
    bool first;         /* no sandbox had begun before it, and it is none: see sandbox_may_begin */
};

/* program: the struct sock_fprog in the program's memory; 0: there is none. */
struct sandbox_filter sandbox_filter_comes(uint64_t program, bool all);
/* True if all calls of ours pass the filter at `program`, so that it is no sandbox to us: nothing
 * ends, and *f is only to be told whether it came (sandbox_filter_came). False: *f is untouched,
 * and one of the others is to be called. May come before sandbox_begins(). */
bool sandbox_filter_passes(uint64_t program, bool all, struct sandbox_filter *f);
/* The calling thread is about to ask for what makes any sample of it deadly, for as long as it
 * lives: it is not sampled any more, as in a sandbox. (Its parent is to trace it: each signal stops
 * it; rdtsc faults, as in seccomp's strict mode; system calls from other places than it names do,
 * and so there are to be no_calls.) */
struct sandbox_filter sandbox_thread_comes(bool no_calls);
/* The filter, or what else was asked for, is there, or was refused. */
void sandbox_filter_came(const struct sandbox_filter *f, bool is_there);
/* The calls of rt_sigaction that our handler's absence asks for may still be made. */
bool sandbox_lets_actions(void);
/* Samples may still come to a thread of the process. */
bool sandbox_has_samples(void);
/* close may still be called. */
bool sandbox_lets_close(void);
/* The calling thread is not sampled any more, for as long as it lives. */
void sandbox_samples_end(void);
/* Around exec in a sandbox: no sample is to come to the new image; there is none. True:
 * signals_exec_ignore has been called. `last`: no other thread is about to execute a program. */
bool sandbox_exec_begins(void);
void sandbox_exec_failed(bool last);
/* getpid, futex, nanosleep and sigaltstack. */
bool sandbox_lets_number(void);
/* What tells whether memory can be read (interpose/pointers.h). */
bool sandbox_lets_looks(void);
bool sandbox_lets_wake(void);
bool sandbox_lets_sleep(void);
bool sandbox_lets_stack(const struct rt_thread *t);
/* Under the filters of this thread nothing may come that makes samples deadly; or our signal can be
 * ignored then. */
bool sandbox_ends_anyway_as(const struct rt_thread *t);
/* How often samples have ended, of one thread or of all. */
uint32_t sandbox_endings_as(void);
/* How many filters have come for all threads. */
uint32_t sandbox_filters_as(void);
/* A thread that others can find from now on: filters may have come for all of them since its
 * maker's were noted for it. */
void sandbox_filter_thread_begins(struct rt_thread *t);
/* In a fork child. */
void sandbox_filter_fork_child(void);

#endif
