/* Classes of instructions (sigsafe/spool_counts.h) of blocks, from what the decoder says.
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

#endif
