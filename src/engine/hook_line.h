/* What goes around single instructions and calls of hooks (hook.h): assembly of the tool's own, and
 * the time that an instruction takes.
 *
 * Context: `block`.
 * Ownership: constant data. */
#ifndef PENUMBRA_ENGINE_HOOK_LINE_H
#define PENUMBRA_ENGINE_HOOK_LINE_H

#include "engine/hook.h"

/* Code that is copied into the code cache: position-independent, without a stack, and it cannot
 * fault. */
enum { TOOL_LINES = 3 };
struct tool_line {
    const uint8_t *begin, *end;
    const uint8_t *entries[TOOL_LINES];
};

/* A call of `function` as by hook_call_as, but through the tool's own code first: entry `which` of
 * its struct tool_line, which may do what the function would, and go on behind the two words that
 * r11 points to, {function, argument}; or go to the function by the thread's hook_entry (direct) or
 * hook_indirect_entry, with all registers but r11 and all flags as they came. gs:[rip] is where the
 * transfer goes; at HOOK_INDIRECT rcx is it too, and rcx and r11 are free; at HOOK_TAKEN r11 is to
 * be loaded from gs:[slot_link]. */
bool hook_line_as(struct hooks *h, enum hook_point point, unsigned which, hook_function *function,
                  uint64_t argument);

/* Times instruction `index`, which does not end the block: inside all hooks before and after it,
 * the time stamp counter is read when all that comes before has finished, and again when the
 * instruction has. The difference, in ticks, with what measuring costs (as many ticks as an
 * instruction that does nothing shows), is in t->time for hooks after the instruction. */
bool hook_time_as(struct hooks *h, uint32_t index);

#endif
