/* The barrier of shadows that have all threads: every thread of the program stands still, with its
 * registers where the copy finds them, while the monitor forks.
 *
 *      monitor           a thread that runs        one in futex(wait)       one in another call, asleep
 *      ───────           ──────────────────        ──────────────────       ───────────────────────────
 *      close ──event──>  trap on its way to        .                        .
 *        │               user mode: joins          .                        .
 *        │ looks at /proc: who runs, who sleeps, in which call              .
 *        ├──signal───────────────────────────────> joins                    (left alone)
 *      fork
 *      open  ─────────>  goes on                   its call begins again    .
 *
 * A thread is never interrupted in a call that could tell: the event of the first kind traps only
 * where the thread returns to user mode by itself, and futex(wait) without a time limit is begun
 * again by the kernel.
 *
 * Context: signal handlers of the threads concerned; one monitor at a time closes and opens. The
 * wait is bounded on both sides: of the monitor by --barrier-timeout, of a thread by a monitor that
 * is gone.
 * Ownership: places are the process's, valid until the next barrier; a shadow has its copy. */
#ifndef PENUMBRA_RUNTIME_CARRIER_SHADOW_SHADOW_BARRIER_H
#define PENUMBRA_RUNTIME_CARRIER_SHADOW_SHADOW_BARRIER_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "runtime/runtime.h"

/* Where the thread is while it waits at the barrier. */
struct rt_barrier {
    uint32_t asked;     /* the number of the barrier that last wanted it; the monitor's */
    uint32_t joined;    /* atomic; the number of the barrier that it waits at; 0: none */
    ucontext_t *context; /* on its stack */
    uint64_t fs, gs, child_tid, robust; /* what the kernel keeps for it */
};

enum { BARRIER_PLACES = 512, BARRIER_ARGUMENTS = 6 };

/* Another thread than the monitor's. */
struct barrier_place {
    struct rt_thread *thread; /* NULL: nobody told us about it */
    int32_t tid;
    bool stopped;   /* its registers are in thread->carrier.barrier; else it sleeps in: */
    int32_t call;   /* a system call, by number, or -1: elsewhere in the kernel */
    uint64_t arguments[BARRIER_ARGUMENTS];
    uint64_t turns; /* how often it had been given a processor */
};

/* BARRIER_COUNT: all stand still, until _open. Else why it was given up; then it is open
 * already. */
enum barrier_reason shadow_barrier_close_as(const struct rt_thread *monitor);
void shadow_barrier_open_as(void);

/* Before it opens: nobody has run since it was closed, so that a copy made meanwhile is of one
 * moment. What has woken a thread in a call does not ask us. */
bool shadow_barrier_held_as(const struct rt_thread *monitor);

/* While it is closed, and in the copy: the other threads. */
const struct barrier_place *shadow_barrier_places(uint32_t *count);

/* A signal with STOP_SLOT in thread t, about to return to u: waits while the barrier is closed. */
void shadow_barrier_join_as(struct rt_thread *t, ucontext_t *u);

#endif
