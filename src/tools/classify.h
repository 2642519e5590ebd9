/* Classes of instructions (sigsafe/spool_counts.h), and what is their result, from what the decoder
 * says.
 *
 * Context: pure functions. */
#ifndef PENUMBRA_TOOLS_CLASSIFY_H
#define PENUMBRA_TOOLS_CLASSIFY_H

#include "engine/hook.h"
#include "tools/class.h"

/* The block as a thing that is counted: where it is, and its instructions by class. */
struct spool_thing classify_block_as(const struct hooks *h, const struct hook_block *block);

/* struct tool.block of tools that count the executions of blocks. */
void classify_count_as(const struct hook_block *block, struct hooks *h);

/* The general register that is the instruction's result: the first that it writes. False: it writes
 * none. */
bool classify_result(const struct x86_insn *insn, struct x86_definition *out);

/* The first two of them. Returns how many it writes, of which there may be more. */
enum { CLASSIFY_RESULTS = 2 };
unsigned classify_results(const struct x86_insn *insn, struct x86_definition out[CLASSIFY_RESULTS]);

#endif
