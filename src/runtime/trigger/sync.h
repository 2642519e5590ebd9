/* Synchronous triggers: the program's own calls use something up (bytes, waiting time), and each
 * time a threshold is passed the call's path is a sample (csprof paper, section 2.1 and figure 2).
 *
 *     malloc(300) malloc(500) malloc(900)      thresholds every T = 512 bytes
 *     |---300---|------500------|--------------900-------------|
 *     0              512               1024             1536
 *                     ^ 1 sample        ^ 2 samples      ^     the rest is carried over, per thread
 *
 * An event that passes k thresholds counts k samples, so that an event of s units is k = s / T
 * samples on average, whatever the events before it were. With randomization each threshold is
 * drawn from [T/2, 3T/2], so that allocations in a regular pattern do not always meet the same one.
 *
 * While the samples cost more than the budget, or without one more than SYNC_BOUND_PPM of the
 * thread's CPU time, the thresholds double, and each stands for as many periods as it was drawn
 * from. A period of one unit is a wish to count exactly: it has no bound of its own.
 *
 * The interposed functions of one family (heap, io, locks) are in a library of their own, which
 * holds the whole runtime besides: a recording with another trigger does not have them in the way
 * at all. Where triggers of several families are asked for, a library with all of them is
 * preloaded.
 *
 * Context: the calling thread, in functions that it calls; signal handlers of the program too,
 * where the interposed function may be called there. No allocation; errno stays as it is.
 * Ownership: the state is the thread's. */
#ifndef PENUMBRA_RUNTIME_TRIGGER_SYNC_H
#define PENUMBRA_RUNTIME_TRIGGER_SYNC_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/runtime.h"

/* Of one trigger. */
struct sync_way {
    int64_t left;   /* units until the next threshold; 0: the thread was never armed */
    /* periods that the next threshold stands for: as many as lie before it, on average */
    uint64_t worth;
    bool met;       /* `left` counts from a threshold */
};
enum { SYNC_KINDS = TRIGGER_LOCK_WAIT - TRIGGER_MALLOC + 1 };
struct sync_local {
    struct sync_way ways[SYNC_KINDS];
    /* of the innermost functions that give memory: tells whether one called another */
    uint64_t calls;
};
extern _Thread_local struct sync_local sync_local __attribute__((tls_model("initial-exec")));

#define SYNC_UNITS_MAX (INT64_MAX / 4)

/* Uses up `units` of the trigger; true if a threshold was passed: then sync_enter says how many. */
static inline bool sync_due(enum trigger_kind trigger, uint64_t units)
{
    struct sync_way *way = &sync_local.ways[trigger - TRIGGER_MALLOC];
    way->left -= (int64_t)(units < SYNC_UNITS_MAX ? units : SYNC_UNITS_MAX);
    return __builtin_expect(way->left <= 0, 0);
}

/* Whether the recording has this trigger. */
static inline bool sync_wants(enum trigger_kind trigger)
{
    return spool_trigger_find(rt.config, trigger) != UINT32_MAX;
}

/* A sample in progress: the thread, with its signals blocked so that nothing can leave it half
 * done. */
struct sync_hold {
    struct rt_thread *thread;
    uint64_t mask;  /* of signals, before */
    uint64_t ticks; /* at the begin */
    uint32_t inside; /* sandbox.h */
    uint32_t before; /* the trigger that counted */
    bool masked;
};

/* Begins a sample after sync_due. Returns its weight, 0 if there is none to take; then there is
 * nothing to leave. What is not taken is counted by its reason. */
uint64_t sync_enter(struct sync_hold *hold, enum trigger_kind trigger);
/* The current call path, from the first frame outside the runtime. Returns its node; NULL:
 * dropped. */
struct cct_node *sync_sample(struct sync_hold *hold, uint64_t weight);
/* Accounts for the time, and gives the signals back. */
void sync_leave(struct sync_hold *hold);

/* All of it, for families that need no more. */
void sync_take(enum trigger_kind trigger);

/* Signals blocked without a sample. */
void sync_mask(struct sync_hold *hold);
void sync_unmask(struct sync_hold *hold);

/* Arms the calling thread, of the trigger that counts. */
void sync_arm_as(struct rt_thread *t);

/* What a family does beyond counting; added by its constructor. */
struct sync_family {
    uint32_t triggers;                /* 1 << kind: it does it with any of these only; 0: always */
    void (*begin)(void);              /* the process is armed; rt.config says for which triggers */
    void (*fork_child)(void);         /* in a child that goes on being profiled */
    void (*end)(struct rt_thread *t); /* the process ends, in this thread, or tries to execute */
    void (*moved)(const void *from, const void *to); /* a mapping; NULL: of no interest */
};
void sync_family_add(const struct sync_family *family);
void sync_families_begin(void);
void sync_families_fork_child(void);
void sync_families_end(struct rt_thread *t);
void sync_families_moved(const void *from, const void *to);

#endif
