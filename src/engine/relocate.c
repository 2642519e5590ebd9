/* Copies of instructions that cannot be used as they are: those with an operand relative to rip. */
#include "engine/translate.h"

enum { REX_W = 8, REX_R = 4, REX_X = 2, REX_B = 1 };

uint64_t relocate_address(const struct x86_insn *insn, const uint8_t *code, uint64_t pc)
{
    int32_t disp = ((const struct { int32_t v; } __attribute__((packed, may_alias)) *)(const void *)
                    (code + insn->at_disp))->v;
    uint64_t address = pc + insn->length + (uint64_t)(int64_t)disp;
    return insn->traits & X86_ADDRESS32 ? (uint32_t)address : address;
}

static bool is_int32(uint64_t value)
{
    return value == (uint64_t)(int64_t)(int32_t)value;
}

/* The instruction's bytes with another displacement, of the same length. */
static bool copy_in_reach(struct translation *x, const struct x86_insn *insn, const uint8_t *code,
                          uint64_t address)
{
    uint64_t disp = address - (emit_here(&x->hot) + insn->length);
    if (!is_int32(disp) || insn->traits & X86_ADDRESS32)
        return false;
    emit_copy(&x->hot, code, insn->at_disp);
    emit_imm_(&x->hot, 4, (int32_t)disp);
    emit_copy(&x->hot, code + insn->at_disp + 4, insn->length - insn->at_disp - 4u);
    span_close_as(x, SPAN_COPY, insn->length, 0);
    return true;
}

/* Whether bit X of REX, VEX or EVEX is set, which would extend a SIB's index. */
static bool has_index_bit(const struct x86_insn *insn, const uint8_t *code)
{
    if (insn->encoding == X86_LEGACY)
        return insn->traits & X86_HAS_REX && code[insn->at_prefix] & REX_X;
    return insn->encoding != X86_VEX2 && !(code[insn->at_prefix + 1] & 0x40);
}

/* [disp32] instead of [rip + disp32]: one byte more, a SIB without base and index. The address is
 * sign-extended, and with prefix 67 cut to 32 bits. */
static bool copy_absolute(struct translation *x, const struct x86_insn *insn, const uint8_t *code,
                          uint64_t address)
{
    if (!(insn->traits & X86_ADDRESS32) && !is_int32(address))
        return false;
    if (has_index_bit(insn, code) || insn->length > 14)
        return false;
    emit_copy(&x->hot, code, insn->at_modrm);
    emit_copy(&x->hot, (const uint8_t[]){ (uint8_t)((code[insn->at_modrm] & 0x38) | 4), 0x25 }, 2);
    emit_imm_(&x->hot, 4, (int32_t)(uint32_t)address);
    emit_copy(&x->hot, code + insn->at_disp + 4, insn->length - insn->at_disp - 4u);
    span_close_as(x, SPAN_SAME, insn->length, 0);
    return true;
}

/* lea r, [rip + d]: a constant. */
static bool copy_lea(struct translation *x, const struct x86_insn *insn, uint64_t address)
{
    if (insn->map != X86_MAP_ONE_BYTE || insn->opcode != 0x8d || insn->traits & X86_PREFIX66)
        return false;
    emit_mov_ri(&x->hot, insn->reg, insn->traits & X86_REX_W ? address : (uint32_t)address);
    span_close_as(x, SPAN_SAME, insn->length, 0);
    return true;
}

/* The bytes with base `scratch` (below r8, not rsp or rbp) instead of rip. */
static void copy_with_base(struct translation *x, const struct x86_insn *insn, const uint8_t *code,
                           unsigned scratch)
{
    uint8_t *at = x->hot.at;
    emit_copy(&x->hot, code, insn->at_disp);
    emit_copy(&x->hot, code + insn->at_disp + 4, insn->length - insn->at_disp - 4u);
    if (x->hot.overflow)
        return;
    at[insn->at_modrm] = (uint8_t)((code[insn->at_modrm] & 0x38) | scratch);
    /* Bit B extends the base; relative to rip it meant nothing. */
    if (insn->encoding == X86_LEGACY && insn->traits & X86_HAS_REX)
        at[insn->at_prefix] &= (uint8_t)~REX_B;
    else if (insn->encoding != X86_LEGACY && insn->encoding != X86_VEX2)
        at[insn->at_prefix + 1] |= 0x20;
}

/* True for a load that overwrites a whole general register: it can hold the address before. */
static bool is_plain_load(const struct x86_insn *insn)
{
    unsigned bit = 1u << insn->reg;
    return insn->fields & X86_FIELD_REG && insn->encoding == X86_LEGACY &&
           insn->access == (X86_MEM | X86_MEM_READ) && insn->writes == bit &&
           !(insn->reads & bit) && insn->reg < X86_R8 && insn->reg != X86_RSP &&
           insn->reg != X86_RBP && !(insn->traits & X86_HIGH_BYTE);
}

/* A register that the instruction neither names nor uses; every instruction leaves one of these. */
static unsigned scratch_for(const struct x86_insn *insn)
{
    static const uint8_t order[] = { X86_RBX, X86_RSI, X86_RDI, X86_RDX, X86_RCX, X86_RAX };
    unsigned used = (unsigned)insn->reads | insn->writes | insn->implicit;
    for (unsigned i = 0; i < sizeof order; i++)
        if (!(used >> order[i] & 1))
            return order[i];
    return X86_RBX;
}

/*      mov gs:[slot_a], scratch
 *      mov scratch, address
 *      (the instruction, on [scratch])
 *      mov scratch, gs:[slot_a]        not after a plain load into scratch                       */
static void copy_with_scratch(struct translation *x, const struct x86_insn *insn,
                              const uint8_t *code, uint64_t address)
{
    bool load = is_plain_load(insn);
    unsigned scratch = load ? insn->reg : scratch_for(insn);
    emit_mov_mr(&x->hot, 8, emit_gs(ENGINE_T_SLOT_A), scratch);
    emit_mov_ri(&x->hot, scratch, address);
    span_close_as(x, SPAN_SAME, 0, 0);
    copy_with_base(x, insn, code, scratch);
    span_close_as(x, SPAN_CORE, insn->length, scratch | X86_RSP << 4);
    if (load)
        return;
    emit_mov_rm(&x->hot, 8, scratch, emit_gs(ENGINE_T_SLOT_A));
    span_close_as(x, SPAN_BETWEEN, 0, 0);
}

void relocate_as(struct translation *x, uint32_t index, uint64_t pc)
{
    const struct x86_insn *insn = &x->e->insns[index];
    const uint8_t *code = x->e->code[index];
    uint64_t address = relocate_address(insn, code, pc);
    if (copy_in_reach(x, insn, code, address) || copy_lea(x, insn, address) ||
        copy_absolute(x, insn, code, address))
        return;
    copy_with_scratch(x, insn, code, address);
}

/* mov rcx, r/m with the addressing of the indirect branch; prefixes that mean something are kept. */
static void target_from_memory(struct translation *x, const struct x86_insn *insn,
                               const uint8_t *code)
{
    uint8_t bytes[EMIT_LONGEST];
    unsigned n = 0;
    unsigned rex = insn->traits & X86_HAS_REX ? code[insn->at_prefix] & (REX_X | REX_B) : 0;
    if (insn->traits & X86_FS)
        bytes[n++] = EMIT_FS;
    if (insn->traits & X86_ADDRESS32)
        bytes[n++] = 0x67;
    bytes[n++] = (uint8_t)(0x40 | REX_W | rex);
    bytes[n++] = 0x8b;
    bytes[n++] = (uint8_t)((code[insn->at_modrm] & 0xc7) | X86_RCX << 3);
    for (unsigned i = insn->at_modrm + 1u; i < insn->length && n < sizeof bytes; i++)
        bytes[n++] = code[i];
    emit_copy(&x->hot, bytes, n);
}

void relocate_target_as(struct translation *x, uint32_t index, uint64_t pc)
{
    const struct x86_insn *insn = &x->e->insns[index];
    const uint8_t *code = x->e->code[index];
    if (insn->fields & X86_FIELD_RM) {
        if (insn->base != X86_RCX)
            emit_mov_rr(&x->hot, 8, X86_RCX, insn->base);
    } else if (!(insn->traits & X86_RIP_RELATIVE)) {
        target_from_memory(x, insn, code);
    } else {
        uint64_t address = relocate_address(insn, code, pc);
        struct emit_mem m = emit_rip(address);
        int64_t distance = (int64_t)(address - emit_here(&x->hot));
        if (distance > INT32_MAX - 64 || distance < INT32_MIN + 64) {
            m = emit_absolute((int32_t)address);
            if (!is_int32(address)) {
                emit_mov_ri(&x->hot, X86_RCX, address);
                span_close_as(x, SPAN_SAME, 0, 0);
                m = emit_at(X86_RCX, 0);
            }
        }
        if (insn->traits & X86_FS)
            m.segment = EMIT_FS;
        emit_mov_rm(&x->hot, 8, X86_RCX, m);
        if (m.base == X86_RCX) {
            span_close_as(x, SPAN_CORE_RCX, x->end == END_CALL_INDIRECT ? 0 : insn->length, 0);
            return;
        }
    }
    span_close_as(x, SPAN_SAME, x->end == END_CALL_INDIRECT ? 0 : insn->length, 0);
}
