/* One sample: its stack is walked and becomes a path in its thread's tree.
 *
 *      tree:   [root] ─> main ─> work ─> write ─> do_syscall_64 ─> ksys_write ─> ...
 *                        └── user part ──────┘    └── kernel part ──────────────────┘
 *
 * Kernel frames are keys of no image (machine_kernel.h). Of a wait, those of the scheduler itself
 * are left out: what it waits in is the leaf.
 *
 * Context: the machine's thread.
 * Ownership: machine_sampler_free releases what machine_sampler_make has made. */
#ifndef PENUMBRA_COLLECTOR_MACHINE_SAMPLE_H
#define PENUMBRA_COLLECTOR_MACHINE_SAMPLE_H

#include "collector/machine/machine_kernel.h"
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
    uint64_t *path; /* of the last sample: keys, down to its node */
    uint32_t path_count, path_most;
    uint64_t period_ns;
    bool timeline;
    uint64_t taken;
    struct machine_walked walked;
    uint64_t over; /* samples of threads that were nearly over, and have no number any more */
    struct machine_ranges kernel; /* where waits and wakes end */
    struct {
        uint64_t taken, taken_ns;     /* that have ended, and how long they and their likes took */
        uint64_t unended, unended_ns; /* that went on to the recording's end */
        uint64_t unknown, unknown_ns; /* where it is not known */
        uint64_t over_ns;             /* estimates that cannot be: more than threads were there */
        uint64_t last_ns;             /* when those that last were charged last */
        uint64_t end_ns;              /* of the recording; 0: not yet */
        bool lossy;                   /* records have been lost */
    } waits;
};

/* Where a stack is in its thread's tree. */
struct machine_place {
    struct machine_process *process;
    struct machine_thread *thread;
    struct spool_thread *record; /* of a WAKE, that of the thread's wakes */
    struct unwind_result walk;
    spool_ref node;
};

/* NULL: no memory. */
struct machine_sampler *machine_sampler_make(struct machine_processes *processes,
                                             uint32_t frames_max, uint64_t period_ns,
                                             bool timeline);
void machine_sampler_free(struct machine_sampler *s);
/* SAMPLE, or WALK of which the walk is DONE: of the CPU's clock. */
void machine_sampler_take(struct machine_sampler *s, const struct machine_record *sample);
/* The place of a sample's stack, made. False: it is of nobody who is recorded (a WAKE may be of
 * anybody), or there is no room for it. */
bool machine_sampler_place(struct machine_sampler *s, const struct machine_record *sample,
                           struct machine_place *place);
/* A child of a place's node; 0: the spool is full. */
spool_ref machine_place_below(const struct machine_sampler *s, const struct machine_place *place,
                              spool_ref node, uint64_t key);
/* So many periods at a node of a record's tree; 0: they are dropped, as the spool is full. */
void machine_sampler_charge(struct machine_sampler *s, struct spool_thread *record,
                            spool_ref node, uint64_t periods);
/* When that was, of the thread's first record: until `time`; span_ns: they took so long; 0: a
 * moment. */
void machine_sampler_time(struct machine_sampler *s, const struct machine_place *place,
                          spool_ref node, uint64_t time, uint64_t periods, uint64_t span_ns);
/* It has an interrupt in its kernel part: what was interrupted has nothing to do with it. */
bool machine_sample_is_interrupt(const struct machine_sampler *s,
                                 const struct machine_record *sample);

#endif
