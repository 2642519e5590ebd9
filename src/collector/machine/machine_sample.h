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

struct machine_sampler {
    struct machine_processes *processes;
    struct unwind_thread unwind;
    struct machine_memory memory;
    struct unwind_frame *frames;
    uint32_t frames_max;
    uint64_t period_ns;
    bool timeline;
    uint64_t taken;
    uint64_t over; /* samples of threads that were nearly over, and have no number any more */
};

/* NULL: no memory. */
struct machine_sampler *machine_sampler_make(struct machine_processes *processes,
                                             uint32_t frames_max, uint64_t period_ns,
                                             bool timeline);
void machine_sampler_free(struct machine_sampler *s);
void machine_sampler_take(struct machine_sampler *s, const struct machine_record *sample);

#endif
