/* What the runtime knows about the process that it is a guest in, and about each of its threads.
 *
 *   perf event / timer ── si_perf_data or si_value = cookie << 32 | slot
 *                                                           │
 *   rt.slots[slot] ──> struct rt_thread ──> spool_thread (shared: counters)
 *                           │          └──> cct nodes    (shared: the tree)
 *                           └ private: frames buffer, memo of the last path, unwind caches
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

#include "sigsafe/spool.h"
#include "unwind/unwind.h"

enum {
    RT_SLOTS = 1 << 16,       /* threads that can be alive at once */
    RT_SLOT_DISCOVERY = 0xffffffff, /* the inherited event that finds unknown threads */
    RT_RANDOM_GROUP = 128,    /* samples between two draws of the period: one system call each */
    RT_PHASES = 256,          /* of one process, "no phase" included */
    RT_SIGNAL_STACK = 64 << 10, /* of each thread, right below its struct rt_thread (interpose/alternate.h) */
};

/* One step of the last sample's path, outermost first. */
struct rt_memo {
    uint64_t key;
    uint64_t cfa, ra; /* as in struct unwind_frame */
    spool_ref node;
    uint32_t reserved;
};

#define RT_NO_ENTRY UINT32_MAX

/* The thread's trampoline (carrier/trampoline.h). */
struct rt_trampoline {
    uint32_t entry; /* the thread's entry, or RT_NO_ENTRY */
    uint32_t at;    /* if set: memo[at] is the frame whose return address is replaced */
    uint32_t lifted; /* if not set: memo[lifted - 1] was the marked frame when it was taken away; else 0 */
    uint32_t fired; /* memo[fired] was the marked frame that has returned last, since the last sample; else 0 */
    bool set;
    bool allowed;   /* the thread can be recognized by its thread-local storage */
    bool lost;      /* some entry of the thread is lost */
    enum truncation truncation; /* how the path above the trampoline ends */
    spool_ref tree; /* the tree that the memo belonged to when it was set */
};

/* A stack that several samples share the walk of (carrier/deep.h). */
struct rt_deep {
    struct unwind_frame *frames; /* leaf first, from the anchor's caller on; NULL: never needed */
    uint32_t count, built;       /* frames; of them, from the outermost on, those that the memo has */
    struct unwind_point at;      /* where the walk goes on */
    bool complete;               /* nothing follows */
    enum truncation truncation;  /* how it ends */
};

/* How often a thread was switched out: as it waited, and as others took its place. */
struct rt_switches {
    uint64_t waits, preempted;
};

enum { ACCOUNT_LATENCIES = 8 };

/* What a sample costs the thread (trigger/account.c). */
struct rt_account {
    uint64_t latency_ns;   /* from a period's end to the handler's beginning, median; 0: not known */
    uint32_t latencies[ACCOUNT_LATENCIES], measured; /* the last ones; how many there have been */
    uint64_t entry_cpu_ns; /* the thread's CPU clock at this sample's entry; 0: not read */
    uint64_t typical;      /* ticks, by that clock, of the last long sample at whose entry it was read; 0: there was none */
    uint32_t turn;         /* samples */
    uint64_t last_cost;    /* ticks that the last sample took, preempted or not */
    uint64_t set_ticks;    /* time stamp counter where the event has just been set: the next one's latency can be measured;
                              else 0 */
};

struct carrier;
struct engine_thread;
struct perf_event_mmap_page;

/* What the carrier `burst` (carrier/burst.h) keeps about a thread. */
struct rt_burst {
    struct engine_thread *engine; /* NULL: not made yet */
    uint64_t mask;   /* the program's, while a burst runs */
    uint64_t begun;  /* time stamp counter at the handler's entry */
    uint64_t translated;   /* dispatches of the thread that made code, before it */
    uint64_t counted_from; /* time stamp counter: what went before is in the thread's cost */
    uint64_t length; /* instructions asked for */
    uint64_t random; /* xorshift state */
    int64_t credit;  /* for far skips, and up to how far this burst's may go (carrier/burst_draw.h) */
    uint32_t reach;
    /* In parts of a trigger: from one burst to the next (0: there was none yet), and since the last one. Of the bursts by
     * which that will be decided anew: how many, the CPU time before and in them. */
    uint64_t interval, waited;
    uint32_t window_bursts;
    uint64_t window_cpu_ns, window_ns;
    bool active;     /* a burst runs */
    bool native;     /* ... and the processor executes one instruction of it (burst_native.h) */
    bool refused;    /* there was no memory for `engine` */
};

/* Signals for faults (SIGSEGV, SIGBUS, SIGFPE, SIGILL) that somebody has sent during a burst, for after it: of each one, as
 * in the kernel. */
struct rt_sent {
    uint32_t count;
    siginfo_t signals[4];
};

/* Where the thread is while it waits at the barrier (carrier/shadow_barrier.h). */
struct rt_barrier {
    int32_t fd;         /* the event that stops it, or -1 */
    uint32_t asked;     /* the number of the barrier that last wanted it; the monitor's */
    uint32_t joined;    /* atomic; the number of the barrier that it waits at; 0: none */
    ucontext_t *context; /* on its stack */
    uint64_t fs, gs, child_tid, robust; /* what the kernel keeps for it */
};

struct rt_thread {
    struct spool_thread *record;
    uint32_t slot;
    int32_t tid;
    int32_t fd;         /* perf event, or -1 */
    int32_t switch_fd;  /* context-switch event of the wall trigger, or -1 */
    int32_t timer;      /* POSIX timer, or -1 */
    uint32_t busy;      /* the handler is running in this thread */
    uint32_t inside;    /* atomic (sandbox.h) */
    uint32_t denied;    /* atomic: calls that a filter of its does not let through (sandbox_filter.c) */
    uint32_t silenced;  /* before the filter of this number (sandbox_filter.h); 0: not */

    /* The sampling clock (trigger/clock.h). */
    uint64_t period;        /* of the event as programmed now, in the trigger's unit */
    uint64_t base;          /* trigger units at the last sample: where the next period starts */
    uint64_t last_ticks;    /* time stamp counter at the last sample */
    uint64_t passed_ns;     /* of elapsed time between the last two samples */
    uint64_t last_pc, last_sp; /* where it interrupted the thread */
    uint32_t stops;         /* samples in a row that came there while the one before was taken (trigger/delivery.c) */
    bool stopped;           /* its samples have ended: it is traced */
    uint64_t carry;         /* units not yet charged: less than one mean period */
    uint64_t owed;          /* units that passed unseen, for the next sample to charge to no context */
    uint64_t multiple;      /* mean period now = config.period * multiple */
    uint64_t slow;          /* samples in a row that seem to have taken half of a period */
    uint64_t random;        /* xorshift state */
    uint32_t group_left;    /* samples until the period is drawn anew */
    uint32_t group;         /* size of the groups of this pair of draws; 0: none was drawn yet */
    bool premature;         /* this signal is no sample (trigger/clock.c) */
    bool mirror;            /* the next draw mirrors this one */
    enum { RT_OLD, RT_NEW, RT_SAMPLED } age; /* in its first period; in what comes up to the second sample */

    /* Whether it switches often (trigger/ticks.c). */
    struct rt_switches switches;        /* at the last look: how often it had, ... */
    uint64_t switches_cpu_ns;           /* ... and its CPU time */
    uint32_t looks;                     /* samples since then */
    uint32_t calm, patience;            /* looks in a row that found few; how many lead back to the event; 0: it never left it */

    /* Self-measurement over the current window (trigger/budget.h). */
    uint64_t window_cpu_ns, window_cost_ticks, window_deliveries, window_delivered_ns, window_switched_ns;
    struct rt_account account;

    /* Tree building (carrier/cct.h). */
    uint8_t *block, *block_end; /* unused part of the current block of nodes */
    uint32_t memo_depth; /* memo[0 .. memo_depth) is a path in the tree, whether it is on the stack or not */
    spool_ref counted;   /* the node where the last sample was counted */
    struct rt_deep deep;
    uint32_t max_depth;
    struct rt_memo *memo;
    struct unwind_frame *frames;
    struct rt_trampoline trampoline;

    /* `record`, memo and tree are those of `phase` (runtime/phase.h). */
    uint32_t phase;
    uint64_t cpu_seen; /* CPU time that is in the cpu_ns of some record */
    struct spool_thread *records[RT_PHASES]; /* by phase; NULL: not sampled in it */

    struct rt_burst burst;
    struct rt_sent sent;
    /* carrier/burst_watch.h */
    struct perf_event_mmap_page *watch; /* mapped in the process watch_pid (atomic), for the thread watch_tid */
    int32_t watch_pid, watch_tid;
    struct rt_barrier barrier;

    uint64_t seen; /* bytes counted by the triggers read and write (interpose/io.h) */

    uint64_t spawned_ns; /* of children of posix_spawn, not yet charged: less than a period */
    struct rt_thread *vforked; /* interpose/vfork.h: of the child that this thread waits for; that one's own, of the next */
    struct rt_thread *spare;   /* the state of its former child, for the next one */
    struct spool_left *left;   /* of such a child: it is about to execute a program */

    /* pthread_create's arguments, until the thread has started. */
    void *(*start)(void *);
    void *argument;
    uint64_t stack_size;
    bool is_vforked, has_left; /* it is the child of a vfork; it has stopped its trigger, and settled its account */
    bool stack_short; /* paused: the thread's alternate stack is too small for a signal */
    bool alternate_ours; /* its alternate stack is ours (interpose/alternate.h) */
    uint64_t alternate_lo, alternate_hi; /* atomic: that stack; alternate_lo 0: none, or it changes */
    bool trap_blocked; /* the program believes that our signal is blocked in this thread; atomic, once the thread has begun */
    bool trap_awaited; /* atomic: the program waits for it there (interpose/signals_waits.c) */

    struct rt_thread *next_free;
    struct unwind_thread unwind;
};

/* What this process is to the recording. */
enum rt_state {
    RT_UNOBSERVED, /* none has begun here, or it is over */
    RT_PROFILED,
    RT_LEFT_OUT,   /* a forked child that is not followed */
    RT_SHADOW,     /* a copy (carrier/shadow.h): interposed functions, which it executes as part of the
                      program, are to find no recording */
};

struct rt {
    struct spool spool;
    enum rt_state state;           /* every entry point looks at this first */
    struct spool_process *process; /* its record; where it is not RT_PROFILED: the last one's, if there was any */
    const struct spool_config *config;
    const struct carrier *carrier; /* never NULL (carrier/carrier.h) */
    int32_t pid;
    uint64_t seen;            /* atomic: rt_thread.seen of threads that have ended */
    uint32_t phase;           /* atomic: what the process is in now */
    uint32_t paused;          /* atomic: pauses that have not been resumed */
    uint32_t cookie;          /* upper half of the value that our signals carry */
    uint32_t slots_used;      /* atomic high-water mark */
    bool attached;            /* the process ran before we came (attach.h) */
    uint32_t inside;          /* atomic (sandbox.h): entries by who has no state, or changes it */
    uint32_t retired;         /* atomic: attached, and its collector has ended */
    uint32_t generation;      /* of attaches: states of an earlier one are nobody's */
    int32_t lifeline;         /* attached: closes with the collector; else -1 */
    struct rt_thread *slots[RT_SLOTS]; /* atomic pointers; NULL: free */
};

extern struct rt rt;

/* Maps the spool behind fd, at most so many bytes of it, into rt.spool. */
bool runtime_map_spool(int fd, uint64_t at_most);

/* True if the program may be in a seccomp sandbox: then our handlers make no system calls and no new
 * thread is armed. */
static inline bool rt_quiet_as(void)
{
    return __atomic_load_n(&rt.spool.quiet, __ATOMIC_RELAXED);
}

static inline bool rt_profiled_as(void)
{
    return rt.state == RT_PROFILED;
}

/* True if sampling goes on in this process. */
static inline bool rt_running_as(void)
{
    return rt_profiled_as() && !__atomic_load_n(&rt.retired, __ATOMIC_RELAXED) &&
           __atomic_load_n(&spool_header(&rt.spool)->state, __ATOMIC_RELAXED) == SPOOL_RUNNING;
}

#endif
