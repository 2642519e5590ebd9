/* An instruction as productions see it (sigsafe/production.h), from what the decoder says. What
 * depends on where the instruction is (target, images, link-time address) the caller adds.
 *
 * Context: pure functions; in the collector, too. */
#ifndef PENUMBRA_TOOLS_TRIGGER_H
#define PENUMBRA_TOOLS_TRIGGER_H

#include "sigsafe/production.h"
#include "x86/insn.h"

enum { TRIGGER_MEMORIES = 2 };

/* A memory operand that productions look at. */
struct trigger_memory {
    struct x86_memory is;
    uint8_t number; /* of x86_memory_as */
};

struct trigger {
    struct production_trigger seen;
    bool is_call, is_return;
    uint8_t memories;
    struct trigger_memory memory[TRIGGER_MEMORIES];
};

/* `pc`: as it runs. */
void trigger_make_as(const struct x86_insn *insn, const uint8_t *code, uint64_t pc,
                     struct trigger *out);

#endif
