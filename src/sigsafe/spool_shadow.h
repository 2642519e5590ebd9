/* Shadows in the spool: who runs, how each ended, what it observed and what it cost.
 *
 *      spool_process.shadows ─> spool_shadows
 *                                ├ seats[16]     one for each shadow that runs at a time
 *                                │   └ window ─> the counters that whoever sits here adds to
 *                                └ sums over all shadows that the process has had
 *
 * A shadow counts where the one before it in the same seat has counted, so that the spool does not
 * grow with their number. A seat goes FREE -> TAKEN (the monitor, before the fork) -> LEFT (the
 * shadow, when it ends; or its parent, if it was killed) -> FREE (when nothing is left of the
 * process: the collector, or the monitor where the parent is a guard).
 *
 * Context: the program's signal handlers, shadows, the collector. All fields are atomic.
 * Ownership: records live in the spool and are never freed. */
#ifndef PENUMBRA_SIGSAFE_SPOOL_SHADOW_H
#define PENUMBRA_SIGSAFE_SPOOL_SHADOW_H

#include "sigsafe/latency.h"
#include "sigsafe/shadow_figures.h"
#include "sigsafe/spool.h"

enum {
    SHADOW_SEATS = 16,
    SHADOW_CALLS = 512,  /* system calls by number; the last one stands for all above */
    SHADOW_PAUSES = LATENCY_BUCKETS,
};

enum seat_state { SEAT_FREE = 0, SEAT_TAKEN = 1, SEAT_LEFT = 2 };

/* Whether the copy is of one moment is known only after the fork. */
enum seat_verdict { VERDICT_NONE = 0, VERDICT_WHOLE = 1, VERDICT_TORN = 2 };

struct spool_seat {
    uint32_t state;   /* enum seat_state */
    int32_t pid;      /* of the shadow; 0: not known yet */
    spool_ref window; /* struct spool_window */
    uint32_t verdict; /* atomic futex word, enum seat_verdict: of a copy that has all threads */
    uint64_t number;  /* of the shadow: `started` is at least as much once it is counted */
    int32_t guard;    /* its parent, where that is a child of the program; 0: the collector is */
    /* atomic: it has observed as much as it was to, and goes on (shadow_ripen_as) */
    uint32_t ripe;
    uint32_t dismissed; /* atomic, the monitor: it is to end, whatever it has observed */
    /* atomic: no page is its program's any more, which would be copied when that writes to it */
    uint32_t apart;
};

struct spool_shadows {
    struct spool_seat seats[SHADOW_SEATS];
    uint32_t cache_lost; /* a shadow found the code that they share unusable */
    uint32_t place;      /* atomic enum shadow_place: of CARRIER_AUTO, what holds now */
    uint32_t fork_errno; /* why the kernel refused to fork, the last time */
#define TICKS(field, how, unit, what) uint64_t field##_ticks;
    SHADOW_FIGURES(FIGURE_FIELD, TICKS, FIGURE_FIELDS) /* sums over all shadows */
#undef TICKS
};

/* The running average of shadows that are active, over all processes of the recording, as an area:
 * what it is above `load_milli` / 1000, times nanoseconds. now_ns: CLOCK_MONOTONIC. True: it is
 * below, and one more does not exceed the load rounded up. */
bool shadow_load_allows_as(struct spool_header *h, uint64_t now_ns);

/* In the shadow: it has done its work, and takes no part in the load any more; it ends when the
 * next one runs. */
void shadow_ripen_as(struct spool_header *h, struct spool_seat *seat, uint64_t now_ns);

/* Instructions to pass over, on average, behind a stretch of so many that were observed: the one,
 * or the other where observing takes much longer than that. By what both have cost in all shadows
 * of the process so far: if it was by what this stretch has, slow code would be observed less; and
 * if it followed what observing costs, which becomes less, the beginning of a process would. */
enum { SHADOW_PASSED = 18000000, SHADOW_PASSED_MORE = 4 * SHADOW_PASSED };
uint64_t shadow_pass_length(const struct spool_shadows *r, uint64_t stretch);

/* The shadow in the seat is gone. False: somebody else has seen to it. */
bool shadow_leave_as(struct spool_header *h, struct spool_seat *seat, uint64_t now_ns);

#endif
