/* What the carriers that run the program's code under the engine have in common.
 *
 * Context: translated_key_as: the dispatcher, under the engine's lock. The rest: any.
 * Ownership: none. */
#ifndef PENUMBRA_RUNTIME_CARRIER_TRANSLATED_H
#define PENUMBRA_RUNTIME_CARRIER_TRANSLATED_H

#include "engine/engine.h"
#include "runtime/sandbox_calls.h"
#include "runtime/trigger/trigger.h"
#include "sigsafe/spool_counts.h"
#include "unwind/unwind.h"

/* The image that has the address, also if the program has only just mapped it; or NULL. */
const struct unwind_image *translated_image_as(uint64_t address);
/* struct engine_carrier.key. */
uint64_t translated_key_as(void *carrier, uint64_t address);

/* The process's counts, made at the first call; NULL: no room. Not by two threads at once where
 * there are none yet. */
struct spool_counts *translated_counts_as(void);

/* Adds what the engine did for this thread since the last time to the process's record. */
void translated_figures_as(struct spool_counts *counts, struct engine_thread *t);

/* A sample whose call path nobody asks for. True: code is to be run for it. */
bool translated_due_as(struct rt_thread *t, struct trigger_charge charge);

/* The return address of the procedure that the thread is in, before the instruction at pc; 0: not
 * found. Reads the stack by unwind tables, as samples do. */
uint64_t translated_caller_as(struct rt_thread *t, const struct engine_thread *e, uint64_t pc);

/* What glibc registered with the kernel for the calling thread's restartable sequences, or NULL. */
void *translated_rseq_area_as(void);

/* The instruction at t->rip cannot be translated: notes the first one. Not under the engine's
 * lock. */
void translated_refused_as(struct spool_counts *counts, struct engine_thread *t);
static inline bool translated_is_refusal(enum stop_reason why)
{
    return why == STOP_UNSUPPORTED || why == STOP_FAR_TRANSFER || why == STOP_GS ||
           why == STOP_INVALID;
}

/* What the engine asks the kernel for. */
extern const struct sandbox_calls translated_calls;

/* This library in memory, by the linker. */
extern const uint8_t __ehdr_start[] __attribute__((visibility("hidden")));
extern const uint8_t _end[] __attribute__((visibility("hidden")));

#endif
