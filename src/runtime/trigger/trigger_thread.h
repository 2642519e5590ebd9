/* What triggers keep about a thread.
 *
 * Context: the thread's own.
 * Ownership: a part of struct rt_thread. */
#ifndef PENUMBRA_RUNTIME_TRIGGER_TRIGGER_THREAD_H
#define PENUMBRA_RUNTIME_TRIGGER_TRIGGER_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/runtime.h"

struct rt_memo;

/* How often a thread was switched out: as it waited, and as others took its place. */
struct rt_switches {
    uint64_t waits, preempted;
};

enum { ACCOUNT_LATENCIES = 8 };

/* What a sample costs the thread (trigger/account.c). */
struct rt_account {
    /* from a period's end to the handler's beginning, median; 0: not known */
    uint64_t latency_ns;
    uint32_t latencies[ACCOUNT_LATENCIES], measured; /* the last ones; how many there have been */
    uint64_t entry_cpu_ns; /* the thread's CPU clock at this sample's entry; 0: not read */
    /* ticks, by that clock, of the last long sample at whose entry it was read; 0: there was
     * none */
    uint64_t typical;
    uint32_t turn;         /* samples */
    uint64_t last_cost;    /* ticks that the last sample took, preempted or not */
    bool set;              /* the event has just been set: its latency can be measured */
};

/* The sampling clock of one trigger in one thread (trigger/clock.c). */
struct rt_clock {
    uint32_t trigger;       /* enum trigger_kind */
    uint32_t bound_ppm;     /* what samples may cost of the CPU time; 0: anything */
    uint64_t mean;          /* the period asked for, in the trigger's unit */
    uint64_t period;        /* of the event as programmed now */
    uint64_t drawn;         /* the thread's first period, which the event's may be longer than */
    uint64_t base;          /* trigger units at the last sample: where the next period starts */
    uint64_t last_ticks;    /* time stamp counter at the last sample */
    uint64_t passed_ticks;  /* of elapsed time between the last two samples */
    uint64_t carry;         /* units not yet charged: less than `least` */
    /* ... at kernel ticks: one mean period, and until the first charge `begun` of them */
    uint64_t least;
    /* units that passed unseen, for the next sample to charge to no context */
    uint64_t owed;
    uint64_t multiple;      /* mean period now = mean * multiple */
    uint64_t begun;         /* ... and at the thread's begin (trigger/pace.c) */
    uint64_t slow;          /* samples in a row that seem to have taken half of a period */
    uint32_t draw_left;     /* samples until the period is drawn anew */
    uint32_t group_left;    /* ... and until the budget is looked at */
    uint32_t group;         /* size of the groups now; 0: none was drawn yet */
    bool premature;         /* this signal is no sample */
    /* ... of elapsed time comes at the end of a wait, and less has passed than a sample stands
     * for */
    bool weightless;
    bool mirror;            /* the next draw mirrors this one */
    /* the period that the event's next signal is for has been charged already */
    bool spent;
    /* the event stops when it has expired: its first period is shorter than what a signal takes */
    bool once;
    /* ... and has been told so since it last expired: a limit that is told again would be added to
     * it */
    bool limited;
    /* in its first period; in what comes up to the second sample */
    enum { RT_OLD, RT_NEW, RT_SAMPLED } age;
    /* What the current window began with: CPU time, and the record's counts. */
    uint64_t window_cpu_ns, window_cost_ticks, window_deliveries, window_delivered_ns,
        window_switched_ns;
};

/* The thread's CPU clock by what its event counts (trigger/cpu_clock.c). */
struct rt_cpu_clock {
    uint64_t ahead;   /* of the event */
    uint64_t checked; /* when that was measured */
    bool known;       /* atomic: the event has counted ever since */
};

/* Ends of waits that are no samples (trigger/watch.c), since the last look at them. */
struct rt_waits {
    uint32_t ends;
    bool lifts; /* no trampoline is set any more: who looks from outside would meet it */
    uint64_t spent_ns;       /* what they have cost */
    uint64_t cpu_ns, now_ns; /* at the last look; 0: there was none */
};

/* What a trigger has of a thread while another one counts (trigger/turn.h). */
struct rt_other {
    struct rt_clock clock;
    struct spool_thread *record, **records, *own_records[GUEST_PHASES];
    struct rt_memo *memo;
    uint32_t phase, memo_depth;
    spool_ref counted;
    /* of the trigger after the first that has this number, whichever counts now; or -1 */
    int32_t fd;
};

#endif
