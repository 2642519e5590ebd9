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

/* What an event with a signal does here to threads that are in the kernel when it comes: NULL if
 * nothing, else only user mode may be sampled.
 * Before Linux 6.11 its signal was pending at once: nanosleep, poll and other calls that wait
 * failed with EINTR. From then on it comes when the thread returns to user mode (commit
 * c5d93d23a260). But up to 6.14 a thread that was closing the event when it came waited for this
 * for ever, and any other until the first one returned (corrected by 56799bc03565, in 6.12.24,
 * 6.13.12, 6.14.3 and 6.15). */
const char *perf_kernel_hazard(void);

/* Of a release as uname has it: "6.12.38+deb13-amd64". What is missing counts as 0. */
const char *perf_hazard_of(const char *release);
/* Of a release whose own number does not tell, by the signature that Ubuntu has in a file. */
const char *perf_hazard_by(const char *release, const char *signature);

/* tid: 0 is the calling thread. -1 and errno where the kernel refuses it. */
int perf_event_open(const struct perf_event *event, int32_t tid);

#endif
