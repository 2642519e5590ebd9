/* For measuring what recording costs: every value that an instruction writes to a general register,
 * 8 bytes, into the thread's ring; the stack pointer's excepted where push, pop, call and return
 * move it. Nobody reads it. */
#include "tools/classify.h"
#include "tools/tools.h"

static void insn_as(const struct hook_block *block, uint32_t index, struct hooks *h)
{
    struct x86_definition written[X86_DEFINITIONS_MAX];
    unsigned count = x86_definitions_as(&block->insns[index], written);
    for (unsigned i = 0; i < count; i++)
        if (!x86_moves_stack(&block->insns[index], &written[i]))
            hook_append_register_as(h, HOOK_AFTER, index, written[i].reg, 8);
}

static void block_as(const struct hook_block *block, struct hooks *h)
{
    for (uint32_t i = 0; i + 1 < block->count; i++)
        insn_as(block, i, h);
}

const struct tool tool_written = {
    .flags = TOOL_STEALS_R15, .block = block_as,
};
