/* The class of an instruction (sigsafe/spool_counts.h), from what the decoder says.
 *
 * Context: pure functions; in the collector, too. */
#ifndef PENUMBRA_TOOLS_CLASS_H
#define PENUMBRA_TOOLS_CLASS_H

#include "sigsafe/spool_counts.h"
#include "x86/insn.h"

enum instruction_class classify(const struct x86_insn *insn);

#endif
