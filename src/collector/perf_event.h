/* The perf events that the collector opens, of its own threads and of others: the ones that the
 * runtime would (runtime/trigger/perf.c).
 *
 * Context: any thread. Ownership: the caller closes the descriptor. */
#ifndef PENUMBRA_COLLECTOR_PERF_EVENT_H
#define PENUMBRA_COLLECTOR_PERF_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

struct perf_event {
    uint32_t type; /* perf_event_attr.type and .config */
    uint64_t config;
    uint64_t period;
    uint64_t value; /* si_perf_data of its SIGTRAP */
    bool silent;    /* it sends none */
    bool exclude_kernel;
    bool runs; /* at once, not when it is enabled */
};

/* Whether a thread gets a SIGTRAP only when it returns to user mode. Before Linux 6.11, one that
 * came while the thread was in the kernel was pending at once: nanosleep, poll and other calls that
 * wait failed with EINTR. Then only user mode may be sampled. */
bool perf_signals_at_return(void);

/* tid: 0 is the calling thread. -1 and errno where the kernel refuses it. */
int perf_event_open(const struct perf_event *event, int32_t tid);

#endif
