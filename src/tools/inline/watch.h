/* Watches: a function that is called for some memory, some returns, or after some instructions.
 *
 * For a tool with TOOL_WATCHES, which t->watch, t->floor and t->alarm belong to.
 *
 * Context: as engine/hook.h says. */
#ifndef PENUMBRA_TOOLS_INLINE_WATCH_H
#define PENUMBRA_TOOLS_INLINE_WATCH_H

#include "engine/hook.h"

/* Before the instruction, the function is called if the address of this operand (a number in
 * x86_memory_as's list), without what FS adds, lies in a part that the thread watches: if byte
 * watch_part(address) of t->watch is not 0. It is always called where the address cannot be formed
 * in line (vectors, segments, 32 bits, r15 where it is stolen). t->watch is all 0 at first. */
bool watch_memory_as(struct hooks *h, uint32_t index, unsigned operand, hook_function *function,
                     uint64_t argument);
enum { WATCH_PARTS = 256, WATCH_BYTES = 256 };
static inline unsigned watch_part(uint64_t address)
{
    return address / WATCH_BYTES % WATCH_PARTS;
}

/* Before instruction `index`, a return: the function is called if the stack pointer is above
 * ~t->floor, which the tool sets when its thread begins. */
enum { WATCH_FLOOR_BITS = 55 }; /* ~floor is below 2 to this */
bool watch_return_as(struct hooks *h, uint32_t index, hook_function *function, uint64_t argument);

/* At HOOK_ENTRY: `amount`, a block's instructions at most, is taken off t->alarm; if it is below 0
 * then, the function is called, which sets it anew. */
bool watch_alarm_as(struct hooks *h, uint32_t amount, hook_function *function, uint64_t argument);

/* The same, of a block with hook_block.watch_gate; then, while t->watching is set, which any thread
 * may do, its other copy is executed: the tool is asked about that when it is needed first, with
 * hook_block.observed set. The block itself has no other hooks of the tool's. */
bool watch_gate_as(struct hooks *h, uint32_t amount, hook_function *function, uint64_t argument);

#endif
