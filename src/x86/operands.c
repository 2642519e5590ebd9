#include "x86/operands.h"

#include <Zydis/Zydis.h>

_Static_assert(X86_OPERANDS_MAX >= ZYDIS_MAX_OPERAND_COUNT, "Zydis may give so many");

static bool decode(const uint8_t *code, size_t available, ZydisDecodedInstruction *insn,
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT])
{
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MPX, ZYAN_FALSE); /* as insn.h has it */
    return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, available, insn, operands));
}

static const char *register_name(ZydisRegister reg)
{
    return reg == ZYDIS_REGISTER_NONE ? NULL : ZydisRegisterGetString(reg);
}

static void memory(const ZydisDecodedOperand *from, struct x86_operand *to)
{
    to->kind = X86_OPERAND_MEMORY;
    to->name = register_name(from->mem.segment);
    to->base = register_name(from->mem.base);
    to->index = register_name(from->mem.index);
    to->scale = from->mem.scale;
    to->value = from->mem.disp.value;
    to->address_only = from->mem.type == ZYDIS_MEMOP_TYPE_AGEN;
}

static void convert(const ZydisDecodedOperand *from, struct x86_operand *to)
{
    *to = (struct x86_operand){
        .visible = from->visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN,
        .read = (from->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0,
        .write = (from->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0,
        .conditional = (from->actions &
            (ZYDIS_OPERAND_ACTION_CONDREAD | ZYDIS_OPERAND_ACTION_CONDWRITE)) != 0,
        .bits = from->size,
    };
    switch (from->type) {
    case ZYDIS_OPERAND_TYPE_REGISTER:
        to->kind = X86_OPERAND_REGISTER;
        to->name = register_name(from->reg.value);
        break;
    case ZYDIS_OPERAND_TYPE_MEMORY:
        memory(from, to);
        break;
    default: /* far pointers do not exist in 64-bit mode */
        to->kind = X86_OPERAND_IMMEDIATE;
        to->relative = from->imm.is_relative;
        to->value = from->imm.value.s;
        break;
    }
}

int x86_operands(const uint8_t *code, size_t available, struct x86_operand out[X86_OPERANDS_MAX])
{
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (!decode(code, available, &insn, operands))
        return -1;
    for (unsigned i = 0; i < insn.operand_count; i++)
        convert(&operands[i], &out[i]);
    return insn.operand_count;
}

const char *x86_mnemonic(const uint8_t *code, size_t available)
{
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    return decode(code, available, &insn, operands) ? ZydisMnemonicGetString(insn.mnemonic) : NULL;
}
