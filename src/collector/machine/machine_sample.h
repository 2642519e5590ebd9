/* One sample: its stack is walked and becomes a path in its thread's tree.
 *
 *      tree:   [root] ─> main ─> work ─> write ─> do_syscall_64 ─> ksys_write ─> ...
 *                        └── user part ──────┘    └── kernel part ──────────────────┘
 *
 * Kernel frames are keys of no image (machine_kernel.h).
 *
 * Context: the machine's thread.
 * Ownership: machine_sampler_free releases what machine_sampler_make has made. */
#ifndef PENUMBRA_COLLECTOR_MACHINE_SAMPLE_H
#define PENUMBRA_COLLECTOR_MACHINE_SAMPLE_H

#include "collector/machine/machine_memory.h"
#include "collector/machine/machine_process.h"
#include "collector/machine/machine_record.h"
#include "unwind/unwind.h"

/* What the kernel's own walks were like. */
enum { MACHINE_WALK_BINS = 512, MACHINE_WALK_BIN_NS = 32 };
struct machine_walked {
    uint64_t count, frames, ns;
    uint64_t stale; /* what was mapped had just changed: without their user part */
    uint32_t by_ns[MACHINE_WALK_BINS];    /* the last: all that are longer */
    uint32_t thirty_by_ns[MACHINE_WALK_BINS]; /* those of 28 to 32 frames */
};

struct machine_sampler {
    struct machine_processes *processes;
    struct unwind_thread unwind;
    struct machine_memory memory;
    struct unwind_frame *frames;
    uint32_t frames_max;
    uint64_t period_ns;
    bool timeline;
    uint64_t taken;
    struct machine_walked walked;
    uint64_t over; /* samples of threads that were nearly over, and have no number any more */
};

/* NULL: no memory. */
struct machine_sampler *machine_sampler_make(struct machine_processes *processes,
                                             uint32_t frames_max, uint64_t period_ns,
                                             bool timeline);
void machine_sampler_free(struct machine_sampler *s);
/* SAMPLE, or WALK of which the walk is DONE. */
void machine_sampler_take(struct machine_sampler *s, const struct machine_record *sample);

#endif
