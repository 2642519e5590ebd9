/* Classes of instructions (sigsafe/spool_counts.h) from what the decoder says.
 *
 * Context: pure functions. */
#ifndef PENUMBRA_TOOLS_CLASSIFY_H
#define PENUMBRA_TOOLS_CLASSIFY_H

#include "engine/hook.h"
#include "sigsafe/spool_counts.h"

enum instruction_class classify(const struct x86_insn *insn);

/* The block as a thing that is counted: where it is, and its instructions by class. */
struct spool_thing classify_block_as(const struct hooks *h, const struct hook_block *block);

#endif
