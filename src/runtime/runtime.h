/* What the runtime knows about the process that it is a guest in, and about each of its threads.
 *
 *   perf event / timer ── si_perf_data or si_value = cookie << 32 | trigger << 24 | slot
 *                                                           │
 *   rt.slots[slot] ──> struct rt_thread ──> spool_thread (shared: counters)
 *                           │          └──> cct nodes    (shared: the tree)
 *                           └ private: frames buffer, memo of the last path, unwind caches (thread.h)
 *
 * The slot number travels with the signal, so that the handler never touches thread-local storage:
 * threads made by a raw clone() may share their creator's, or have none.
 *
 * Context: rt is set up by the constructor before any other thread can exist, and in fork children
 * before fork returns. After that handlers read it at any time; who writes what is said below.
 * Ownership: the runtime lives as long as the process. Thread states are pooled and reused. */
#ifndef PENUMBRA_RUNTIME_RUNTIME_H
#define PENUMBRA_RUNTIME_RUNTIME_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "guest/guest.h"
#include "sigsafe/settings.h"

enum {
    RT_SLOTS = 1 << 16,       /* threads that can be alive at once */
    RT_SLOT_MASK = RT_SLOTS - 1,
    RT_WHICH_SHIFT = 24, RT_WHICH_MASK = 7 << RT_WHICH_SHIFT, /* of a trigger after the first */
    RT_SLOT_DISCOVERY = 0xffffffff, /* the inherited event that finds unknown threads */
    RT_RANDOM_GROUP = 8,      /* samples between two draws of the period: one system call each */
    RT_BUDGET_GROUP = 128,    /* ... between two looks at the budget */
    /* of each thread, right below its struct rt_thread (interpose/alternate.h) */
    RT_SIGNAL_STACK = 64 << 10,
};

struct carrier;
struct rt_thread; /* thread.h */

/* What this process is to the recording. */
enum rt_state {
    RT_UNOBSERVED, /* none has begun here, or it is over */
    RT_PROFILED,
    RT_LEFT_OUT,   /* a forked child that is not followed */
    /* a copy (carrier/shadow/shadow.h): interposed functions, which it executes as part of the
     * program, are to find no recording */
    RT_SHADOW,
};

struct rt {
    enum rt_state state;           /* every entry point looks at this first */
    const struct spool_config *config;
    const struct carrier *carrier; /* never NULL (carrier/carrier.h) */
    uint64_t seen[2];         /* atomic: rt_thread.seen of threads that have ended */
    uint32_t cookie;          /* upper half of the value that our signals carry */
    uint32_t slots_used;      /* atomic high-water mark */
    /* atomic: a filter kills for perf_event_open or process_vm_readv: neither is called */
    bool avoids;
    bool attached;            /* the process ran before we came (attach.h) */
    uint32_t inside;          /* atomic (sandbox.h): entries by who has no state, or changes it */
    uint32_t retired;         /* atomic: attached, and its collector has ended */
    uint32_t generation;      /* of attaches: states of an earlier one are nobody's */
    int32_t lifeline;         /* attached: closes with the collector; else -1 */
    struct rt_thread *slots[RT_SLOTS]; /* atomic pointers; NULL: free */
};

extern struct rt rt;

/* Of guest.spool, which has been mapped: what is to be done here, and by which carrier. False: it
 * does not say. */
bool runtime_config_take(void);

/* True if the program may be in a seccomp sandbox: then our handlers make no system calls and no
 * new thread is armed. */
static inline bool rt_quiet_as(void)
{
    return guest_quiet_as();
}

static inline bool rt_profiled_as(void)
{
    return rt.state == RT_PROFILED;
}

/* True if sampling goes on in this process. */
static inline bool rt_running_as(void)
{
    return rt_profiled_as() && !__atomic_load_n(&rt.retired, __ATOMIC_RELAXED) &&
           __atomic_load_n(&spool_header(&guest.spool)->state, __ATOMIC_RELAXED) == SPOOL_RUNNING;
}

#endif
