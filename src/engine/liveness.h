/* Which registers and flags does the rest of a block still need?
 *
 * One scan backwards over the decoded instructions. At the block's end everything is live. So are all
 * registers before an instruction that may fault: a handler of the program may look at them, and
 * some (implicit null checks of virtual machines) go on elsewhere with them. Flags are not kept for that.
 *
 * Context: pure functions. */
#ifndef PENUMBRA_ENGINE_LIVENESS_H
#define PENUMBRA_ENGINE_LIVENESS_H

#include "x86/insn.h"

struct live {
    uint16_t registers; /* bit 1 << number */
    uint8_t flags;      /* X86_CF ... */
};

/* out[i]: before instruction i; out[count]: behind the last. */
void liveness_scan(const struct x86_insn *insns, uint32_t count, struct live *out);

#endif
