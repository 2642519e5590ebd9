/* Gates: whether this execution of a block is observed.
 *
 *     left - 1 >= 0 ──> the block without hooks
 *     else asked - 1 >= 0 ──> the block with the hooks that are behind the gate
 *     else the function is called, which sets both anew; and once more
 *
 * `left` and `asked` are the thread's, of the gate of that id (struct counts_gate): 0 at first.
 * When the block is first executed behind its gate the tool is asked about it again: struct
 * hook_block.observed is set, and `gated` is the argument.
 *
 * For a tool with TOOL_LEADS that is the last of its set, and for blocks with hook_block.gate set:
 * a run may see a part only, of code that stays as it is. The gate is the last hook at HOOK_ENTRY,
 * and the block has no others but those in front.
 *
 * Context: as engine/hook.h says. */
#ifndef PENUMBRA_TOOLS_INLINE_GATE_H
#define PENUMBRA_TOOLS_INLINE_GATE_H

#include "tools/inline/lead.h"

/* The argument begins with the id, in its low 32 bits. */
bool gate_as(struct hooks *h, hook_function *function, uint64_t argument);

static inline struct counts_gate *gate_of(struct engine_thread *t, uint32_t id)
{
    return (struct counts_gate *)(void *)lead_of(t, id);
}

#endif
