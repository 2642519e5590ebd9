/* Operations: asks the instrumentations about instructions, and inserts what counts the answers.
 *
 * Context: in cfg layout mode, after register allocation; with no duplication, liveness at the end
 * of blocks is known. */
#ifndef PENUMBRA_COMPILER_OPERATIONS_H
#define PENUMBRA_COMPILER_OPERATIONS_H

#include "tables.h"

/* Begins a function: its record. */
void operations_begin();

/* Whether there are any in a block, or at the function's entry. */
bool operations_are_in(basic_block block);
bool operations_at_entry();

/* For all instructions of a block. */
void operations_insert(basic_block block);

/* One event at the end of a block that only the event's edge executes. */
void operations_at_end(basic_block block, const event_record &event);

/* For the entry of the function, at the end of a block that only entries execute. `flags`: are
 * live. */
void operations_enter(basic_block block, bool flags);

/* How many bytes below the stack pointer are the function's, which no operation may write. */
int operations_red_zone();

#endif
