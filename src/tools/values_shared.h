/* What the two ways of observing values share: one instruction after the other by called hooks
 * (values.c, in bursts), and through the ring (values_whole.c, in whole runs and shadows). Both
 * write the same tuples.
 *
 * Context: as engine/hook.h says.
 * Ownership: the process's state; rings and records live in the spool. */
#ifndef PENUMBRA_TOOLS_VALUES_SHARED_H
#define PENUMBRA_TOOLS_VALUES_SHARED_H

#include "sigsafe/spool_counts.h"
#include "sigsafe/tuples.h"
#include "tools/list.h"

struct values_slots; /* values.c */

/* The process's. */
extern struct values {
    struct spool_counts *counts;  /* atomic: whose `tuples` are; a forked child has others */
    struct spool_tuples *tuples;  /* set before counts */
    const struct tuple_capture *capture;
    const struct value_settings *settings;
    uint32_t every; /* one of so many triggers begins a burst */
    bool exact;
    struct values_slots *slots;
    uint32_t lock;
} values;

/* struct tool.thread_begin: t->tools[TOOL_VALUES] becomes a struct tuple_ring, or NULL: there is no
 * room. */
bool values_thread_begin_as(struct engine_thread *t);

enum { VALUES_UNTIMED = -1 }; /* t->time of an instruction that was not timed */

/* A sequence begins with the instruction at pc, which is the next. False: there is no room, and
 * some instructions are passed over. */
bool values_sequence_begin_as(struct engine_thread *t, struct tuple_ring *ring, uint64_t pc);
/* It ends; what is in it is published. */
void values_sequence_end_as(struct engine_thread *t, struct tuple_ring *ring);

/* A sequence of words (sigsafe/warm.h), with room for so many: ring->cursor.at is where the first
 * goes. False: there is no room. */
bool values_warm_sequence_as(struct engine_thread *t, struct tuple_ring *ring, uint32_t words);

/* A value, as wide as `bytes` says (struct tuple_value). */
static inline uint64_t values_narrowed(uint64_t value, unsigned bytes)
{
    if (bytes & TUPLE_HIGH)
        return value >> 8 & 0xff;
    return bytes >= 8 ? value : value & ((UINT64_C(1) << 8 * bytes) - 1);
}

/* `pc`: the next instruction's address; `address`: of the memory operands. False: memory is gone
 * that was there a moment ago, or nothing was timed. */
bool values_value_as(const struct engine_thread *t, const uint64_t address[TUPLE_MEMORIES],
                     const struct tuple_insn *r, const struct tuple_value *v, uint64_t pc,
                     uint64_t *to);

/* Is the instruction one that goes to pc? A system call counts before it is over, too. */
bool values_goes_to(const struct tuple_insn *r, uint64_t pc, bool indirect);

/* What tool_values_whole has. The window of this number begins here, or with 0 one has ended: in
 * called hooks. */
struct hook_block;
struct hooks;
void values_whole_block_as(const struct hook_block *block, struct hooks *h);
bool values_whole_begin_as(struct engine_thread *t);
void values_whole_flush_as(struct engine_thread *t, const uint8_t *records, uint64_t size,
                           bool ends);
void values_whole_window_as(struct engine_thread *t, uint32_t window);

#endif
