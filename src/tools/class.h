/* The class of an instruction (sigsafe/spool_counts.h), and what is its result, from what the
 * decoder says.
 *
 * Context: pure functions; in the collector, too. */
#ifndef PENUMBRA_TOOLS_CLASS_H
#define PENUMBRA_TOOLS_CLASS_H

#include "sigsafe/spool_counts.h"
#include "x86/insn.h"

enum instruction_class classify(const struct x86_insn *insn);

/* The general register that is the instruction's result: the first that it writes. False: it writes
 * none. */
bool classify_result(const struct x86_insn *insn, struct x86_definition *out);

/* The first two of them. Returns how many it writes, of which there may be more. */
enum { CLASSIFY_RESULTS = 2 };
unsigned classify_results(const struct x86_insn *insn, struct x86_definition out[CLASSIFY_RESULTS]);

#endif
