/* Classes of instructions (sigsafe/spool_counts.h), and what is their result, from what the decoder says.
 *
 * Context: pure functions. */
#ifndef PENUMBRA_TOOLS_CLASSIFY_H
#define PENUMBRA_TOOLS_CLASSIFY_H

#include "engine/hook.h"
#include "sigsafe/spool_counts.h"
#include "x86/insn.h"

enum instruction_class classify(const struct x86_insn *insn);

/* The block as a thing that is counted: where it is, and its instructions by class. */
struct spool_thing classify_block_as(const struct hooks *h, const struct hook_block *block);

/* push, pop, call and return move the stack pointer: that is no result. */
static inline bool is_stack_move(const struct x86_insn *insn, const struct x86_definition *d)
{
    return d->reg == X86_RSP && insn->implicit >> X86_RSP & 1;
}

/* The general register that is the instruction's result: the first that it writes. False: it writes none. */
bool classify_result(const struct x86_insn *insn, struct x86_definition *out);

#endif
