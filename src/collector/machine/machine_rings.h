/* The machine's perf events: one clock a CPU, and what says which process has what mapped where.
 *
 *      CPU 0   cpu-clock ──┐ samples                     every processor has one ring, into which
 *              dummy ──────┴──> ring 0 ──┐               both of its events write
 *      CPU 1   cpu-clock ──┐             ├──> queue, by time ──> machine_rings_next
 *              dummy ──────┴──> ring 1 ──┘
 *
 * A record is in its ring some microseconds after the time that it bears. So what bears a time well
 * before the last round began is complete, and is handed out in the order of time.
 *
 * Context: one thread reads rings, another one takes from the queue; a lock is between them. All
 * else: while neither of them runs.
 * Ownership: machine_rings_close releases everything. */
#ifndef PENUMBRA_COLLECTOR_MACHINE_RINGS_H
#define PENUMBRA_COLLECTOR_MACHINE_RINGS_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "collector/machine/machine_record.h"

struct machine_ring {
    int cpu;
    int side, sample; /* descriptors; -1 */
    int output;       /* of machine_rings_output; -1 */
    void *pages;      /* struct perf_event_mmap_page, then the data; NULL */
};

struct machine_queued {
    uint64_t time, number;
    void *bytes;
    size_t size;
};

struct machine_rings {
    struct machine_ring *list;
    struct pollfd *wait;
    unsigned count;
    size_t data_size; /* of each, a power of two */
    pthread_mutex_t lock; /* of what is below */
    struct machine_queued *queue;
    size_t queued, capacity, next;
    uint64_t number;
    uint64_t queued_bytes;
    uint64_t complete_ns; /* what bears an earlier time is in the queue */
    uint64_t broken;      /* records that made no sense, or for which there was no memory */
    uint64_t losses;      /* the reader's: records that tell of others that were lost */
    uint8_t whole[MACHINE_RECORD_MOST]; /* a record on its way from the ring to the queue */
};

/* While so much waits to be taken, what is new stays in the rings: once they are full, the kernel
 * counts what it cannot write. */
#define MACHINE_QUEUE_MOST (UINT64_C(256) << 20)

/* ring_size: bytes of each ring, a power of two, or less where that may not be. cgroup: the folder
 * of a control group, to sample only what is in it; -1: everything. Nothing is sampled until
 * machine_rings_start. */
bool machine_rings_open(struct machine_rings *r, uint64_t period_ns, size_t ring_size, int cgroup,
                        struct err *e);
/* An event that a BPF program can write to, into the ring of CPU i of the list. -1 (errno): there
 * can be none. */
int machine_rings_output(struct machine_rings *r, unsigned i);
/* A clock of CPU i of the list for a BPF program, not running yet: nothing is written to a ring. -1
 * (errno): there can be none. The caller closes it. */
int machine_rings_clock(const struct machine_rings *r, unsigned i, uint64_t period_ns, int cgroup);
/* From the next sample on. */
void machine_rings_pace(const struct machine_rings *r, uint64_t period_ns);
void machine_rings_start(const struct machine_rings *r);
void machine_rings_stop(const struct machine_rings *r);
/* Samples that the kernel could not write so far: records tell of those that others have followed.
 * 0 where the kernel does not count them. */
uint64_t machine_rings_lost(const struct machine_rings *r);
void machine_rings_close(struct machine_rings *r);
/* Waits until a ring is a quarter full, or most_ms have passed: false. */
bool machine_rings_wait(const struct machine_rings *r, int most_ms);
/* Moves what there is into the queue. `last`: the events have been stopped, and all is complete.
 * False: there is nothing to take. */
bool machine_rings_read(struct machine_rings *r, bool last);
/* So much waits to be taken that rings are not read. */
bool machine_rings_are_full(struct machine_rings *r);
/* Puts a record of our own making (machine_record.h) among them. */
void machine_rings_add(struct machine_rings *r, const void *bytes, size_t size);
/* The oldest that is complete: its bytes are the caller's to free. False: there is none; all of an
 * earlier time than out->time has been taken (UINT64_MAX: all there ever was). */
bool machine_rings_take(struct machine_rings *r, struct machine_queued *out);

#endif
