/* From what Zydis says of one instruction to what the table says of its form. The generator fills
 * the table with it; the tests compare the decoder's answers with it, instruction by instruction.
 *
 * Context: build time and tests. */
#ifndef PENUMBRA_X86_GEN_MODEL_H
#define PENUMBRA_X86_GEN_MODEL_H

#include <Zydis/Zydis.h>

#include "x86/form.h"
#include "x86/insn.h"

struct model {
    ZydisDecoder decoder; /* as x86_decode_as is: 64-bit, no MPX */
    const char *problem;  /* the first thing that a form cannot express, or NULL */
    char about[160];      /* the instruction that has it */
};

void model_init(struct model *m);

/* An instruction with its operands, as Zydis gives them. */
struct model_insn {
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
};

/* Decodes `code`; false: Zydis refuses it, *status says why. */
bool model_decode(const struct model *m, const uint8_t *code, size_t size, struct model_insn *out,
    ZyanStatus *status);

/* Fills all of *form but `forbid`. */
void model_form(struct model *m, const struct model_insn *in, struct x86_form *form);

/* The flags of enum X86_CF...: from a mask of Zydis. */
unsigned model_flags(ZydisAccessedFlagsMask mask);

/* The bank (enum x86_bank) of a vector, MMX or mask register. False: it is none. */
bool model_bank(ZydisRegister reg, unsigned *bank);

#endif
