/* Operands: what x86_decode_as leaves in the bytes and in the form. */
#include "x86/form.h"
#include "x86/insn.h"

static int32_t signed_at(const uint8_t *at, unsigned size)
{
    switch (size) {
    case 1: return (int8_t)at[0];
    case 2: return (int16_t)(at[0] | at[1] << 8);
    case 4: return ((const struct { int32_t v; } __attribute__((packed, may_alias)) *)at)->v;
    default: return 0;
    }
}

int32_t x86_relative_as(const struct x86_insn *insn, const uint8_t *code)
{
    return signed_at(code + insn->at_imm, insn->imm_size);
}

int32_t x86_displacement_as(const struct x86_insn *insn, const uint8_t *code)
{
    int32_t disp = signed_at(code + insn->at_disp, insn->disp_size);
    if (insn->disp_size == 1)
        disp *= 1 << x86_forms[insn->form].disp8_shift;
    return disp;
}

static unsigned segment(const struct x86_insn *insn)
{
    return insn->traits & (X86_FS | X86_GS);
}

struct x86_memory x86_modrm_as(const struct x86_insn *insn, const uint8_t *code)
{
    struct x86_memory m = {
        .disp = x86_displacement_as(insn, code),
        .base = insn->base,
        .index = insn->index,
        .scale = insn->scale,
        .segment = (uint8_t)segment(insn),
        .access = insn->access & (X86_MEM_READ | X86_MEM_WRITE | X86_MEM_CONDITIONAL),
        .address32 = (insn->traits & X86_ADDRESS32) != 0,
        .add8 = X86_NONE,
        .size = insn->mem_size,
    };
    /* pop [rsp + d] forms its address after rsp has moved. */
    if (insn->encoding == X86_LEGACY && insn->map == X86_MAP_ONE_BYTE && insn->opcode == 0x8f &&
            insn->base == X86_RSP)
        m.disp += insn->mem_size;
    return m;
}

static int64_t moffs(const struct x86_insn *insn, const uint8_t *code)
{
    const uint8_t *at = code + insn->at_disp;
    if (insn->disp_size == 4)
        return ((const struct { uint32_t v; } __attribute__((packed, may_alias)) *)at)->v;
    return ((const struct { int64_t v; } __attribute__((packed, may_alias)) *)at)->v;
}

static struct x86_memory implicit_operand(const struct x86_insn *insn, const uint8_t *code,
    const struct x86_form *form, unsigned slot)
{
    static const uint8_t bases[] = {
        [AT_STACK] = X86_RSP, [AT_RSI] = X86_RSI, [AT_RDI] = X86_RDI, [AT_RBX_AL] = X86_RBX,
        [AT_RAX] = X86_RAX, [AT_RBP] = X86_RBP, [AT_REG] = X86_NONE, [AT_ABSOLUTE] = X86_NONE,
    };
    unsigned place = form->implicit_memory[slot] & ((1u << AT_ACCESS_SHIFT) - 1);
    struct x86_memory m = {
        .base = bases[place],
        .index = X86_NONE,
        .scale = 1,
        .access = form->implicit_memory[slot] >> AT_ACCESS_SHIFT,
        .add8 = X86_NONE,
        .size = form->implicit_size,
    };
    if (place != AT_STACK && place != AT_RBP)
        m.address32 = (insn->traits & X86_ADDRESS32) != 0;
    if (place == AT_STACK && (m.access & X86_MEM_WRITE))
        m.disp = -(int64_t)m.size;
    if (place == AT_RBX_AL)
        m.add8 = X86_RAX;
    if (place == AT_REG)
        m.base = insn->reg;
    if (place == AT_ABSOLUTE)
        m.disp = moffs(insn, code);
    /* The segment of [rdi] in string instructions, and of the stack, cannot be overridden. maskmov
     * (0F F7 and its VEX form) is no string instruction. */
    bool fixed = place == AT_STACK || place == AT_RBP || place == AT_REG ||
        (place == AT_RDI && insn->map == X86_MAP_ONE_BYTE);
    if (!fixed)
        m.segment = (uint8_t)segment(insn);
    return m;
}

unsigned x86_memory_as(const struct x86_insn *insn, const uint8_t *code,
    struct x86_memory out[X86_MEMORY_MAX])
{
    const struct x86_form *form = &x86_forms[insn->form];
    unsigned count = 0;
    if (insn->access & (X86_MEM_READ | X86_MEM_WRITE))
        out[count++] = x86_modrm_as(insn, code);
    for (unsigned slot = 0; slot < 2; slot++)
        if (form->implicit_memory[slot] >> AT_ACCESS_SHIFT)
            out[count++] = implicit_operand(insn, code, form, slot);
    return count;
}

static void define(const struct x86_insn *insn, unsigned use, unsigned reg,
    struct x86_definition by[16])
{
    unsigned width = use >> FIELD_WIDTH_SHIFT;
    if (!(use & FIELD_WRITE))
        return;
    bool high = width == WIDTH_1 && (insn->traits & X86_HIGH_BYTE) && reg >= 4 && reg < 8;
    struct x86_definition d = {
        .reg = (uint8_t)(high ? reg - 4 : reg & 15),
        .width = (uint8_t)(1u << width),
        .high = high,
        .conditional = (use & FIELD_CONDITIONAL) != 0,
    };
    if (d.width > by[d.reg].width) /* xadd al, al and the like: one definition */
        by[d.reg] = d;
}

unsigned x86_definitions_as(const struct x86_insn *insn,
    struct x86_definition out[X86_DEFINITIONS_MAX])
{
    const struct x86_form *form = &x86_forms[insn->form];
    struct x86_definition by[16] = {{0}};
    unsigned count = 0;
    for (unsigned reg = 0; reg < 16; reg++) {
        if (!(form->writes >> reg & 1))
            continue;
        unsigned code = reg == X86_RAX ? form->rax_width :
            reg == X86_RSP ? WIDTH_8 : form->other_width;
        by[reg] = (struct x86_definition){
            .reg = (uint8_t)reg,
            .width = (uint8_t)(code == WIDTH_HIGH ? 1 : 1u << code),
            .high = code == WIDTH_HIGH,
            .conditional = form->conditional >> reg & 1,
        };
    }
    if (insn->fields & (X86_FIELD_REG | X86_FIELD_OPCODE))
        define(insn, form->reg, insn->reg, by);
    if (insn->fields & X86_FIELD_RM)
        define(insn, form->rm, insn->base, by);
    if (insn->fields & X86_FIELD_VVVV)
        define(insn, form->vvvv, insn->vvvv, by);
    for (unsigned reg = 0; reg < 16; reg++)
        if (by[reg].width)
            out[count++] = by[reg];
    return count;
}

/* A field's register, if its value goes into the operation: of a byte or word that is only written,
 * the form says that the register is read. */
static bool is_source(const struct x86_insn *insn, unsigned use)
{
    bool part = (use & FIELD_WRITE) && use >> FIELD_WIDTH_SHIFT <= WIDTH_2;
    bool exchange = (insn->map == X86_MAP_ONE_BYTE &&
        (insn->opcode / 2 == 0x86 / 2 || insn->opcode / 8 == 0x90 / 8)) ||
        (insn->map == X86_MAP_0F && insn->opcode / 8 == 0xc8 / 8); /* xchg, bswap */
    bool moved = insn->class == X86_CLASS_MOVE && !exchange && !(use & FIELD_CONDITIONAL);
    return (use & FIELD_READ) && !(part && moved);
}

static unsigned source(const struct x86_insn *insn, unsigned use, unsigned reg,
    struct x86_definition *out)
{
    unsigned width = use >> FIELD_WIDTH_SHIFT;
    if (!is_source(insn, use))
        return 0;
    bool high = width == WIDTH_1 && (insn->traits & X86_HIGH_BYTE) && reg >= 4 && reg < 8;
    *out = (struct x86_definition){
        .reg = (uint8_t)(high ? reg - 4 : reg & 15), .width = (uint8_t)(1u << width), .high = high,
    };
    return 1;
}

/* Implicit operands are as wide as what is written there; a shift's count is cl. */
static unsigned implicit_width(const struct x86_form *form, unsigned reg)
{
    if (form->writes >> reg & 1)
        return reg == X86_RAX && form->rax_width != WIDTH_HIGH ? 1u << form->rax_width
                                                               : 1u << form->other_width;
    return form->bits & FORM_SHIFT_IMM || reg != X86_RCX ? 8 : 1;
}

/* Registers that implicit memory operands are addressed by. */
static uint16_t address_registers(const struct x86_form *form)
{
    static const uint8_t by[] = {
        [AT_RSI] = X86_RSI, [AT_RDI] = X86_RDI, [AT_RBX_AL] = X86_RBX, [AT_RAX] = X86_RAX,
        [AT_RBP] = X86_RBP, [AT_STACK] = X86_RSP, [AT_ABSOLUTE] = X86_RSP, [AT_REG] = X86_RSP,
        [AT_NONE] = X86_RSP,
    };
    unsigned mask = 1u << X86_RSP;
    for (unsigned slot = 0; slot < 2; slot++)
        mask |= 1u << by[form->implicit_memory[slot] & ((1u << AT_ACCESS_SHIFT) - 1)];
    return (uint16_t)mask;
}

unsigned x86_sources_as(const struct x86_insn *insn,
    struct x86_definition out[X86_DEFINITIONS_MAX])
{
    const struct x86_form *form = &x86_forms[insn->form];
    unsigned count = 0;
    if (insn->fields & (X86_FIELD_REG | X86_FIELD_OPCODE))
        count += source(insn, form->reg, insn->reg, &out[count]);
    if (insn->fields & X86_FIELD_RM)
        count += source(insn, form->rm, insn->base, &out[count]);
    if (insn->fields & X86_FIELD_VVVV)
        count += source(insn, form->vvvv, insn->vvvv, &out[count]);
    unsigned implicit = form->reads & ~(unsigned)address_registers(form);
    for (unsigned reg = 0; reg < 16; reg++)
        if (implicit >> reg & 1 && count < X86_DEFINITIONS_MAX)
            out[count++] = (struct x86_definition){
                .reg = (uint8_t)reg, .width = (uint8_t)implicit_width(form, reg)};
    return count;
}
