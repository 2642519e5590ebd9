/* Which registers and flags does the rest of a block still need?
 *
 * One scan backwards over the decoded instructions. At the block's end everything is live, but for
 * flags that the code behind it overwrites at once, where that is known. So are all registers
 * before an instruction that may fault: a handler of the program may look at them, and some
 * (implicit null checks of virtual machines) go on elsewhere with them. Flags are not kept for
 * that.
 *
 * Context: pure functions but for what they complete. */
#ifndef PENUMBRA_ENGINE_LIVENESS_H
#define PENUMBRA_ENGINE_LIVENESS_H

#include "x86/insn.h"

struct live {
    uint16_t registers; /* bit 1 << number */
    uint8_t flags;      /* X86_CF ... */
};

/* out[i]: before instruction i; out[count]: behind the last, where these flags are live. at_faults:
 * flags that are live before an instruction that may fault, whatever comes behind it. */
void liveness_scan(const struct x86_insn *insns, uint32_t count, uint8_t flags, uint8_t at_faults,
                   struct live *out);

/* Flags that are live before the code of which so many bytes may be read, as far as its first
 * instructions say: not more than so many bytes. */
enum { LIVENESS_AHEAD = 150 };
uint8_t liveness_ahead(const uint8_t *code, uint64_t available);

/* Only which status flags are live before the first instruction: the first few mostly say. Of the
 * instructions only the shape need be known (x86_shape_as). */
uint8_t liveness_flags_at_entry(struct x86_insn *insns, const uint8_t *const *code, uint32_t count);

#endif
