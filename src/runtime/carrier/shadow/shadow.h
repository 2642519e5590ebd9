/* The carrier `shadow`: at a trigger a copy of the process is forked, which goes on under the
 * engine from the interrupted instruction, for as many instructions as were asked for, and ends.
 * The program goes on natively. docs/shadow.md has the design.
 *
 *      trigger ──> monitor ──fork──> shadow: parts from all that others see, runs, counts, ends
 *                     │
 *                     └──return──> program
 *
 * Context: _as functions: signal handlers of the thread concerned.
 * Ownership: one engine a process, made at the first trigger and shared with its shadows; records
 * are the spool's. */
#ifndef PENUMBRA_RUNTIME_CARRIER_SHADOW_SHADOW_H
#define PENUMBRA_RUNTIME_CARRIER_SHADOW_SHADOW_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "runtime/runtime.h"
#include "runtime/sandbox_calls.h"

/* Of the recording; constant but for fields that say otherwise. */
extern const struct shadow_settings *shadow_settings;

/* A trigger's handler, about to return to the interrupted context u. In the program: makes a
 * shadow, or counts why not. In the shadow, which returns from here too, u is made to lead into the
 * engine. False: may_burst, and this process is to be observed by bursts in place
 * (sigsafe/shadow_place.h). */
bool shadow_take_as(struct rt_thread *t, ucontext_t *u, bool may_burst);
/* That was the last decision. */
bool shadow_in_place_as(void);

/* CPU time of the monitor's own work at a trigger, the last one's. */
uint64_t shadow_trigger_ns(void);
/* What triggers may cost, of the budget. */
uint64_t shadow_trigger_ppm(uint64_t budget_ppm);

/* Shadows may have all threads, which are stopped for that. */
bool shadow_stops_threads(void);

/* Ordinary code: libraries have gone, and what was translated of them is not to be used again. */
void shadow_images_changed(void);
/* Any context: what is executed at [lo, hi) is not what it was. */
void shadow_code_changed_as(uint64_t lo, uint64_t hi);
/* In a fork child, where nothing is left of the parent's engine, and around an attach: begins
 * anew. */
void shadow_forget(void);
/* The process ends, or another image takes its place: no child of its own is left that is a
 * shadow's, and none is made, ... */
void shadow_program_ends_as(void);
/* ... unless it goes on all the same. */
void shadow_program_goes_on_as(void);

/* What the monitor and shadows ask the kernel for, the engine included. */
extern const struct sandbox_calls shadow_calls;

/* For the monitor: in the shadow, on the interrupted thread's stack. seat and counts are the
 * shadow's; engine, passing: those that are shared, or NULL: it makes its own. False: never. */
struct shadow_start {
    ucontext_t *context;
    struct engine *engine, *passing;
    struct spool_counts *counts;
    struct spool_shadows *record;
    struct spool_seat *seat;
    int32_t pid, tid, ppid; /* of the program's thread */
    int32_t parent;         /* the shadow's */
    uint64_t number;        /* of the process's shadows */
    uint64_t input_at;      /* what is in the log of input before this is of earlier calls */
    bool watched;           /* whoever changes code is seen (burst_watch.h) */
    bool whole;             /* it has all threads of the program */
    uint64_t child_tid, robust; /* then: what the kernel keeps for the thread */
};
void shadow_begin_as(const struct shadow_start *start);
/* In the program, right before the fork: where its files stand, which it shares with the shadow. */
void shadow_files_look_as(void);
/* Where the collector is not the program's parent: forks a guard, which makes the shadow. Returns
 * twice: the guard's pid (or an error), and 0 in the shadow (shadow_guard.c). */
long shadow_guard_fork_as(struct shadow_start *start);

/* The configuration of the engine that observes, and of the one that passes code over. */
struct engine_config;
void shadow_engine_config(struct engine_config *config, struct spool_counts *counts);
void shadow_passing_config(struct engine_config *config);
/* Shadows pass code over. */
bool shadow_passes(void);

#endif
