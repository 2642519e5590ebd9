/* What triggers keep about a thread.
 *
 * Context: the thread's own.
 * Ownership: a part of struct rt_thread. */
#ifndef PENUMBRA_RUNTIME_TRIGGER_TRIGGER_THREAD_H
#define PENUMBRA_RUNTIME_TRIGGER_TRIGGER_THREAD_H

#include <stdint.h>

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

#endif
